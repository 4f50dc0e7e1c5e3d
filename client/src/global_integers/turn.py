"""Lets one thread at a time fetch a block."""

import threading


class Turn:
    """A lock that notes its owner.

    An exception may reach a thread between taking a lock and noting that it has it, as after Ctrl-C. Its turn is
    ended nevertheless, since `end` looks at the owner. A thread that has the turn may take it again, as a signal
    handler does that runs in the middle of it.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._owner: int | None = None

    def take(self, seconds: float) -> bool:
        """Wait for the turn, up to so many seconds. Return whether this thread has it."""
        me = threading.get_ident()
        with self._condition:
            if self._condition.wait_for(lambda: self._owner in (None, me), max(seconds, 0)):
                self._owner = me
                return True
            return False

    def end(self) -> None:
        """End this thread's turn, if it has it."""
        with self._condition:
            if self._owner == threading.get_ident():
                self._owner = None
                self._condition.notify_all()
