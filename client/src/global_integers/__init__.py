"""A client of Global integers: unique integers from the nearest healthy region."""

from .answers import Owner
from .async_integers import AsyncCounter, AsyncIntegers
from .counter import Counter
from .errors import DeadlineExceeded, GlobalIntegersError, Refused, Unavailable, UnknownCounter, UnknownOwner
from .events import Event, FailedOver, Leased, Requested
from .health import Health
from .integers import Integers
from .signing import CannotSign

__all__ = [
    "AsyncCounter",
    "AsyncIntegers",
    "CannotSign",
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
