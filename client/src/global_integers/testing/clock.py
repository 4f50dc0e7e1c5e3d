"""Time that stands still, except where a caller waits. So no test waits, however long its time-outs are."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class StoppedClock:
    """The seconds that have passed in a stack.

    Callers that wait at the same time don't wait for one another: each thread and task has a time of its own, which
    begins at the latest one.
    """

    def __init__(self) -> None:
        self._latest = 0.0
        self._ticks = 0
        self._own: ContextVar[tuple[int, float] | None] = ContextVar("own", default=None)

    def __call__(self) -> float:
        """Return the caller's time."""
        ticks, time = self._own.get() or (-1, 0.0)
        return time if ticks == self._ticks else self._latest

    def wait(self, seconds: float) -> None:
        """Let time pass for this caller."""
        now = self() + seconds
        self._own.set((self._ticks, now))
        self._latest = max(self._latest, now)

    def tick(self, seconds: float) -> None:
        """Let time pass for all callers."""
        self._latest += seconds
        self._ticks += 1

    @contextmanager
    def meanwhile(self) -> Generator[None]:
        """Let what is done here take no time of the caller."""
        before = self()
        try:
            yield
        finally:
            self._own.set((self._ticks, before))
