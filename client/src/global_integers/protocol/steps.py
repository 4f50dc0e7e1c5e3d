"""What a call does, one step after the other. The steps are the same for threads and for tasks, which carry them out.

A generator yields each step, is sent its result, and returns the call's result. `threads.py` and `tasks.py` drive it.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, Protocol, TypeVar

from .api import ApiRequest

T = TypeVar("T")


class Signal(Protocol):
    """What a call waits for, and another one gives."""

    def wake(self) -> None:
        """Let the call go on. Further calls have no effect."""
        ...

    def wait(self, seconds: float) -> Any:
        """Wait up to so many seconds. Return whether the signal was given, or for tasks, what they can await for it."""
        ...


class Send(NamedTuple):
    """Send this request to a region, within so many seconds. The result is its answer, or a `Failure`."""

    region: str
    request: ApiRequest[Any]
    seconds: float


class Sleep(NamedTuple):
    """Wait for so many seconds."""

    seconds: float


class Await(NamedTuple):
    """Wait for a signal, up to so many seconds. The result is whether it was given."""

    signal: Signal
    seconds: float


class Start(NamedTuple):
    """Carry out these steps in the background. The result is whether they were started."""

    steps: "Steps[Any]"


class RunAll(NamedTuple):
    """Carry out these steps at the same time. The result is the list of their results."""

    steps: "list[Steps[Any]]"


Step = Send | Sleep | Await | Start | RunAll
Steps = Generator[Step, Any, T]
