"""What a client's calls need of threads: they wait, send, and work in the background.

A call is a coroutine, for tasks' sake. In a thread it is never suspended: all that it awaits is done by the thread at
once, and `run` returns its result.
"""

import _thread
import logging
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from .forks import Stale, here

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
log = logging.getLogger("global_integers")

SLICE = 0.5
"""A waiting thread looks this often, in seconds, whether a signal handler has forked its process."""


def run(call: Coroutine[Any, Any, T]) -> T:
    """Carry out a call in this thread, and return its result."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a thread's call was suspended")


def is_nested() -> bool:
    """Return whether this thread was in a call already: a signal handler or an observer makes another one.

    The outer call may hold locks, or have left an HTTP client's in a state of its own. Its stack tells, and not a
    variable, which an exception of a signal handler would leave as it was.
    """
    frame, calls = sys._getframe(), 0
    while frame is not None and calls < 2:
        calls += frame.f_code is run.__code__
        frame = frame.f_back
    return calls == 2


class ThreadSignal:
    """A signal that a thread waits for. Only one thread at a time may give it."""

    def __init__(self) -> None:
        self._woken = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """Let the thread go on."""
        self._woken = True
        with suppress(RuntimeError):  # it goes on already
            self._lock.release()

    async def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given, or can't come: this is a forked child."""
        mark, ends = here(), time.monotonic() + seconds
        while not self._woken and mark[0] and (left := ends - time.monotonic()) > 0:
            self._lock.acquire(timeout=min(left, SLICE))
        return self._woken or not mark[0]


class Threads:
    """The threads of a process, which share a client."""

    awaits = False
    make_signal = ThreadSignal

    def __init__(self) -> None:
        self.background: set[object] = set()
        """What goes on in the background."""

    @staticmethod
    def loop() -> None:
        """Return no event loop: calls of threads need none."""

    def caller(self) -> int:
        """Return this thread's number, which a later thread may get again."""
        return threading.get_ident()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        time.sleep(seconds)

    def end(self) -> None:
        """Let what goes on in the background end: it does so with its next request."""

    def start(self, call: Call[object]) -> bool:
        """Carry out a call in the background. Return False if no thread can be started."""

        def work() -> None:
            try:
                run(call())
            except Stale:
                log.debug("work in the background ended, since the client was closed")
            except ValueError as error:  # such as a wrong environment: the caller's own call raises it, too
                log.debug("work in the background failed: %s", error)
            except Exception as error:
                log.warning("work in the background failed: %s", error)
            finally:
                self.background.discard(work)

        self.background.add(work)
        if started(work) is None:
            self.background.discard(work)
            return False
        return True

    async def run_all(self, calls: Sequence[Call[T]], seconds: float) -> list[T | None]:
        """Carry out calls at the same time. Return their results; None: it had none after so many seconds.

        In a signal handler, they are carried out one after the other: other threads may need a lock of this thread.

        Raises:
            Stale: this is a forked child, without these threads.
        """
        ends = time.monotonic() + seconds
        if is_nested():
            return [await call() if time.monotonic() < ends else None for call in calls]
        results: dict[int, T] = {}
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                results[number] = run(calls[number]())
            except BaseException as error:
                errors.append(error)

        mark = here()
        for ended in [started(partial(work, number)) or work(number) for number in range(len(calls))]:
            while ended is not None and mark[0] and (left := ends - time.monotonic()) > 0:
                if ended.acquire(timeout=min(left, SLICE)):
                    break
        if not mark[0]:
            raise Stale
        if errors:
            raise errors[0]
        return [results.get(number) for number in range(len(calls))]


def started(work: Callable[[], object]) -> "_thread.LockType | None":
    """Start a thread, which doesn't keep the process alive. Return a lock that is free once it ends; None: no thread.

    `threading.Thread` waits until its thread runs. A child that a signal handler forks meanwhile would wait for ever.
    """
    ended = threading.Lock()
    ended.acquire()

    def work_and_end() -> None:
        try:
            work()
        finally:
            ended.release()

    try:
        _thread.start_new_thread(work_and_end, ())
    except RuntimeError:  # the interpreter is ending, or the system has no thread left
        log.debug("no thread can be started")
        return None
    return ended
