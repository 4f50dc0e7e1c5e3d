"""What is changed in ministack, so that it does what AWS does: a file a subject.

Each patch names the line of ministack that it replaces, and a test fails when a newer ministack no longer has it
(tests/local/server/test_patches.py): then the patch may go. CONTRIBUTING.md says how they are offered upstream.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Patch:
    """What is called in place of a function of ministack."""

    owner: Any
    """The module, or the class."""
    name: str
    line: str
    """A part of a line of the function, for which the patch is."""
    function: Callable[..., Any]
    """It gets the function that it replaces, then that one's arguments."""


PATCHES: list[Patch] = []

SUBJECTS = ("alarms", "aliases", "permissions", "runtime", "tables", "versions")


def ministack(module: str) -> Any:
    """Return a module of ministack, which has no types."""
    return import_module(f"ministack.{module}")


def replaces(owner: Any, name: str, line: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the decorated function replace one of ministack, for this line of it."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        PATCHES.append(Patch(owner, name, line, function))
        return function

    return decorated


def load() -> list[Patch]:
    """Return all patches."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
    return PATCHES


def apply() -> None:
    """Patch ministack in this process."""
    for patch in load():
        setattr(patch.owner, patch.name, _instead_of(getattr(patch.owner, patch.name), patch.function))


def _instead_of(original: Any, function: Callable[..., Any]) -> Any:
    if not callable(original):
        return function(original)

    @wraps(original)
    def called(*arguments: Any, **named: Any) -> Any:
        return function(original, *arguments, **named)

    return called
