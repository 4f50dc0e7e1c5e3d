"""A client of Global integers: unique integers from the nearest healthy region.

What is in it is imported when it is first used: threads need no asyncio, and the package alone costs almost nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for typing's, which takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from .async_integers import AsyncCounter, AsyncIntegers
    from .errors import (
        DeadlineExceeded,
        Event,
        FailedOver,
        GlobalIntegersError,
        Leased,
        Refused,
        Requested,
        Unavailable,
        UnknownCounter,
        UnknownOwner,
    )
    from .integers import Counter, Integers
    from .minting.api import Owner
    from .minting.failover import Health
    from .minting.options import ClientSettings
    from .minting.signing import CannotSign

__all__ = [
    "AsyncCounter",
    "AsyncIntegers",
    "CannotSign",
    "ClientSettings",
    "Counter",
    "DeadlineExceeded",
    "Event",
    "FailedOver",
    "GlobalIntegersError",
    "Health",
    "Integers",
    "Leased",
    "Owner",
    "Refused",
    "Requested",
    "Unavailable",
    "UnknownCounter",
    "UnknownOwner",
]

__version__ = "1.0.0"
"""Of the package. `client/pyproject.toml` reads it here."""

MODULES = (
    "integers",
    "async_integers",
    "errors",
    "minting.api",
    "minting.failover",
    "minting.options",
    "minting.signing",
)
"""Where these names are looked for, in this order."""


def __getattr__(name: str) -> "Any":
    """Import what has this name (PEP 562)."""
    if name in __all__:
        for module in MODULES:
            found = getattr(import_module(f".{module}", __name__), name, None)
            if found is not None:
                return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that callers use."""
    return sorted(__all__)
