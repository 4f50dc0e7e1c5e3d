"""Both clients behind one interface, and what a test controls or observes: clock, events, the lines that run."""

import asyncio
import inspect
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import FrameType
from typing import Any, TypeVar

import pytest
from global_integers import AsyncIntegers, Event

from tests.client.region_proxies import HANG

E = TypeVar("E")
T = TypeVar("T")


class Awaited:
    """An object whose coroutines are waited for, in another thread's event loop."""

    def __init__(self, awaitable: Any, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._awaitable = awaitable
        self._run = run

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._awaitable, name)
        if not inspect.iscoroutinefunction(found):
            return found

        def wait(*arguments: Any, **options: Any) -> Any:
            return self._run(found(*arguments, **options))

        return wait

    def __getitem__(self, counter: str) -> "Awaited":
        return Awaited(self._awaitable[counter], self._run)

    def __iter__(self) -> "Awaited":
        self._awaitable.__aiter__()
        return self

    def __next__(self) -> int:
        return self._run(self._awaitable.__anext__())


class Tasks(Awaited):
    """`AsyncIntegers` with the interface of `Integers`: every call is a task of one event loop."""

    def __init__(self, *arguments: Any, make: Callable[..., AsyncIntegers] = AsyncIntegers, **options: Any) -> None:
        super().__init__(make(*arguments, **options), self._wait_for)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG)

    def wait_until_idle(self) -> None:
        """Wait until nothing is done in the background."""

        async def others() -> None:
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

        self._wait_for(others())

    def close(self) -> None:
        """Close the client, which may be used again."""
        self.aclose()

    def __enter__(self) -> "Tasks":
        return self

    def __exit__(self, *_: object) -> None:
        self.aclose()
        self.wait_until_idle()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def wait_for_background(integers: Any) -> None:
    """Wait until a client in threads does nothing in the background."""
    ends = time.monotonic() + HANG
    while integers.client.last.io.background:
        assert time.monotonic() < ends
        time.sleep(0.005)


class EventRecorder:
    """An observer that keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._more = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._more:
            self.events.append(event)
            self._more.notify_all()

    def of(self, kind: type[E]) -> list[E]:
        """Return all events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def until(self, wanted: Callable[[Event], bool], since: int) -> None:
        """Wait for such an event among those after the first `since` ones."""
        with self._more:
            assert self._more.wait_for(lambda: any(map(wanted, self.events[since:])), HANG)


class Clock:
    """A clock that stands still unless a test sets it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def resolve(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, Sequence[str]]) -> None:
    """Let these names lead to these IP addresses, or to none: then they don't exist. Others are looked up as ever."""
    original = socket.getaddrinfo

    def resolved(host: str | bytes, port: int, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in names:
            return original(host, port, *arguments, **options)
        if not names[name]:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip_address, port)) for ip_address in names[name]]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


class Bell:
    """A signal that notes whether it was given."""

    def __init__(self) -> None:
        self.rung = False

    def wake(self) -> None:
        """Note that it was given."""
        self.rung = True

    async def wait(self, seconds: float) -> bool:
        """Return whether it was given."""
        return self.rung


class Lines:
    """Within it, `act` is called before the line number `at` of all Python that this thread runs.

    With a `file`, it is called before the step number `at` of the interpreter in that file.
    """

    def __init__(self, at: int = 0, act: Callable[[], object] = lambda: None, file: str | None = None) -> None:
        self.count = 0
        self._at = at
        self._act = act
        self._file = file

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if self._file is not None and frame.f_code.co_filename != self._file:
            return None
        frame.f_trace_opcodes = self._file is not None
        if event == ("line" if self._file is None else "opcode"):
            self.count += 1
            if self.count == self._at:
                self._act()
        return self._trace

    def __enter__(self) -> "Lines":
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


def in_a_child(fork: Callable[[], int], work: Callable[[], T]) -> T:
    """Return what the work returns in a forked child."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        signal.alarm(int(HANG))  # ends it, should it hang
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        returned = pickle.load(pipe)  # noqa: S301 (its own child wrote it)
    os.waitpid(child, 0)
    return returned
