"""Carries out a client's steps in threads."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..client import C, Client
from ..options import Options
from ..protocol.api import ApiRequest, Failure
from ..protocol.forks import Mark, here, loading
from ..protocol.steps import Await, RunAll, Send, Sleep, Start, Step, Steps

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
log = logging.getLogger("global_integers")


SLICE = 0.5
"""A waiting thread looks this often, in seconds, whether a signal handler has forked its process."""


class Closed(Exception):
    """The client was closed after this work in the background had begun."""


class Background(threading.Thread):
    """Work in the background, which doesn't keep the process alive, and ends when its client is closed."""

    def __init__(self, client: object, generation: int, work: Callable[[], object]) -> None:
        super().__init__(target=work, name="global-integers", daemon=True)
        self.client = client
        self.generation = generation


class ThreadSignal:
    """A signal that a thread waits for. Only one thread at a time may give it."""

    def __init__(self) -> None:
        self._given = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """Let the thread go on."""
        self._given = True
        with suppress(RuntimeError):  # it goes on already
            self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given, or can't come: this is a forked child."""
        mark, ends = here(), monotonic() + seconds
        while not self._given and mark[0] and (left := ends - monotonic()) > 0:
            self._lock.acquire(timeout=min(left, SLICE))
        return self._given or not mark[0]


class Caller:
    """Stands for a thread, and ends with it."""


class Threads(Client[C], Generic[C]):
    """A client that all threads of a process share."""

    def __init__(
        self, options: Options, make_counter: Callable[[str], C], make_http: "Callable[[], httpx.Client] | None"
    ) -> None:
        """Prepare. `make_http` returns an HTTP client, by default one of the transport's."""
        self._make_http = make_http
        self._http: httpx.Client | None = None
        self._generation = 0
        """How often it was closed."""
        self._renew_locks()
        super().__init__(options, make_counter)

    def mark(self) -> Mark:
        """Return this process's mark. In a process that was just forked, all clients forget first."""
        return here()

    def caller(self) -> object:
        """Return what stands for this thread."""
        found = getattr(self._mine, "caller", None)
        if found is None:
            found = self._mine.caller = Caller()
        return found

    def signal(self) -> ThreadSignal:
        """Return a signal that this thread can wait for."""
        return ThreadSignal()

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        self._renew_locks()
        self._http = None  # closed by the parent, which has the same connections
        super().forget()

    def close(self) -> None:
        """Close all connections, end what goes on in the background, and drop all leases."""
        here()
        self._generation += 1
        self.drop()
        closed, self._http = self._http, None
        if closed is not None:
            closed.close()

    def run(self, steps: Steps[T]) -> T:
        """Carry out steps, and return their result."""
        answer: object = None
        error: BaseException | None = None
        try:
            while True:
                step = steps.send(answer) if error is None else steps.throw(error)
                try:
                    answer, error = self._take(step), None
                except BaseException as raised:
                    error = raised  # the steps may have something to clean up
        except StopIteration as done:
            return done.value
        finally:
            error = None  # its traceback has this frame
            steps.close()

    def _take(self, step: Step) -> object:
        match step:
            case Send(region, request, seconds):
                return self._send(region, request, seconds)
            case Await(signal, seconds):
                return signal.wait(seconds)
            case Sleep(seconds):
                return sleep(seconds)
            case Start(steps):
                return self._start(steps)
            case RunAll(several):
                return self._run_all(several)

    def _send(self, region: str, request: ApiRequest[Any], seconds: float) -> object:
        """Return a region's answer. If the client was closed meanwhile, that is no failure of the region: ask again.

        A signal handler may interrupt a thread that is sending, and send too. Its request gets a connection of its own,
        since those of the thread have locks that only the thread can release.
        """
        if getattr(self._mine, "sending", False):
            with self.transport.client(self._make_http) as http:
                return self.transport.send(http, region, request, seconds)
        while True:
            generation = self._generation
            try:
                self._mine.sending = True
                answer = self.transport.send(self._connected(), region, request, seconds)
            finally:
                self._mine.sending = False
            if not isinstance(answer, Failure) or generation == self._generation:
                return answer

    def _connected(self) -> "httpx.Client":
        """Return the HTTP client, which is made when it is first needed."""
        here()
        thread = threading.current_thread()
        if isinstance(thread, Background) and thread.client is self and thread.generation != self._generation:
            raise Closed
        with self._connecting:
            if self._http is None:
                with loading:  # httpx imports more with its first client
                    self._http = self.transport.client(self._make_http)
            return self._http

    def _start(self, steps: Steps[Any]) -> bool:
        def work() -> None:
            try:
                self.run(steps)
            except Closed:
                log.debug("work in the background ended, since the client was closed")
            except Exception as error:
                log.warning("work in the background failed: %s", error)

        try:
            Background(self, self._generation, work).start()
        except RuntimeError:  # the interpreter is ending, or the system has no thread left
            log.debug("no thread can be started")
            return False
        return True

    def _run_all(self, several: list[Steps[T]]) -> list[T]:
        results: dict[int, T] = {}
        errors: list[BaseException] = []

        def run(number: int, steps: Steps[T]) -> None:
            try:
                results[number] = self.run(steps)
            except BaseException as error:
                errors.append(error)

        threads: list[threading.Thread] = []
        for number, steps in enumerate(several):
            thread = threading.Thread(target=run, args=(number, steps), daemon=True)
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # the system has no thread left
                run(number, steps)
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [results[number] for number in range(len(several))]

    def _renew_locks(self) -> None:
        self._connecting = threading.RLock()
        self._mine = threading.local()
        """A thread's `caller`, and whether it is `sending`."""
