"""The client for threads."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import calls
from .address import addressed
from .answers import Failure, Owner
from .attempts import Ask, Steps
from .calls import Call
from .client import Client
from .counter import Counter
from .deadline import keep_deadlines
from .errors import FailedEverywhere, UnknownCounter, UnknownOwner
from .events import Observer
from .exchange import default_client
from .forks import forget_in_children, here
from .health import INTERRUPTED, Health
from .options import Options, urls_from_environment

T = TypeVar("T")
log = logging.getLogger("global_integers")


class Closed(Exception):
    """The client was closed after this work in the background had begun."""


class Background(threading.Thread):
    """Work in the background, which doesn't keep the process alive, and ends when its client is closed."""

    def __init__(self, client: "Integers", generation: int, work: Callable[[], object]) -> None:
        super().__init__(target=work, name="global-integers", daemon=True)
        self.client = client
        self.generation = generation


class Integers(Client[Counter], Counter):
    """Unique integers from the nearest healthy region. The object is itself the default counter.

    Use one object for a whole process: all threads may share it, and it is safe to use after a fork. No region is
    asked before the first call.

    A region that doesn't respond, or responds with 401, 403, 404, 408, 410, 429 or 5xx, is left alone for a while. The
    next nearest one is asked, within the call's deadline. Health checks in the background find the nearest one.

    The key decides which region a request with a key goes to, in the same way in every process: only that region can
    return the integer again. So the request doesn't fail over, unless `key_failover` accepts another integer.
    """

    def __init__(
        self,
        urls: Mapping[str, str] | str,
        *,
        counter: str = "",
        lease: int = 1,
        lease_seconds: float = 60.0,
        timeout: float = 10.0,
        attempt_timeout: float = 3.0,
        prefer: str | None = None,
        key_failover: bool = False,
        sign: bool | None = None,
        observer: Observer | None = None,
        http: Callable[[], httpx.Client] | None = None,
    ) -> None:
        """Prepare. No region is asked yet; botocore may look for credentials, also over the network.

        Args:
            urls: the stack's address, such as https://integers.example.com/ (stack output `address`), which the first
                call asks for its regions. Or each region's URL (stack output `urls`), by the region's AWS name, for
                which requests are signed.
            counter: the counter of this object's own `next`, by default the first one of the stack's settings.
            lease: the largest number of integers in one lease, 1 to 100,000. 1 is off: every integer is a request.
            lease_seconds: seconds after which the rest of a lease is dropped.
            timeout: seconds for a whole call, with all attempts.
            attempt_timeout: seconds for one attempt, which a region that hangs costs. Keep it above 2: a region may
                take 2 s to respond while a layout changes.
            prefer: the region to ask as long as it is healthy, by default the nearest one.
            key_failover: whether a request with a key may get another integer from another region.
            sign: whether to sign requests (`authorization: AWS_IAM`). By default, those to Function URLs, if botocore
                and credentials are found, and those to an address that has refused one without a signature.
            observer: called with every `Requested`, `FailedOver` and `Leased`. Calls wait for it. An error that
                it raises is logged.
            http: returns the `httpx.Client` to use. It is called again after a fork and after `close`.

        Raises:
            ValueError: one of these is wrong.
            CannotSign: `sign` is True, and botocore or the credentials are missing, or awscrt for an address. It is a
                `ValueError`. Without `sign`, the first call raises it if the address wants a signature.
        """
        urls = addressed(urls, sign)
        options = Options(
            urls, counter, lease, lease_seconds, timeout, attempt_timeout, prefer, key_failover, sign, observer
        )
        self.set_up(options, lambda name: Counter(self, name))
        self._make_http = http or default_client
        self._http: httpx.Client | None = None
        self._generation = 0
        """How often it was closed."""
        Counter.__init__(self, self, counter)
        forget_in_children(self)

    @classmethod
    def from_env(cls, **options: Any) -> "Integers":
        """Return a client for the URLs in the environment variable `GLOBAL_INTEGERS_URLS`.

        The variable has the stack's address, an object of URLs by region as JSON, a stack's outputs as JSON, or the
        path of a file with such JSON (`pulumi stack output --json`, `python -m local outputs --json`).

        Args:
            options: those of `Integers`, except `urls`.

        Raises:
            ValueError: the variable isn't set, or is wrong.
        """
        return cls(urls_from_environment(), **options)

    def create(self, counter: str, *, timeout: float = 60.0) -> bool:
        """Create a counter in every region. Return whether it is new.

        Args:
            counter: the counter's name.
            timeout: seconds for the whole call, which takes some seconds.

        Raises:
            Refused: the stack doesn't allow it (`openCounters`).
            Unavailable: all regions failed.
            ValueError: no counter can have this name.
        """
        return self.call(calls.create(counter), time.monotonic() + timeout, each=timeout / 2)

    def owner(self, integer: int, counter: str | None = None) -> Owner:
        """Return the region that mints an integer of a counter, by default of this object's counter.

        Raises:
            UnknownOwner: no region knows the owner, or the counter.
            Refused: the request isn't allowed.
            Unavailable: all regions failed, or the owner did.
            ValueError: no counter can have this name.
        """
        name = counter or self._name_of_default()
        deadline = time.monotonic() + self.options.timeout
        call = calls.owner(name, integer)
        found, ask = self.call(call, deadline, nowhere=UnknownOwner)
        if ask is not None and ask in self.options.urls:
            with suppress(FailedEverywhere):  # then who owns it is known, but not whether it was minted
                found, _ = self.call(call, deadline, [ask], nowhere=UnknownOwner)
        return found

    def health(self) -> dict[str, Health]:
        """Return whether each region can mint now. All are asked at the same time.

        Raises:
            Unavailable, Refused: the client has an address, and the address doesn't name its regions.
        """
        self.locate(time.monotonic() + self.options.timeout)
        found: dict[str, Health] = {}
        names = list(self.options.urls)

        def check(region: str) -> None:
            found[region] = self.check(region)

        threads = [threading.Thread(target=check, args=(region,), daemon=True) for region in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {region: found[region] for region in names}

    def close(self) -> None:
        """Close all connections. What is leased is dropped, which leaves a gap. The client may be used again."""
        here()
        self._generation += 1
        for counter in (self, *list(self._counters.values())):
            Counter.drop(counter)
        closed, self._http = self._http, None
        if closed is not None:
            closed.close()

    def __enter__(self) -> "Integers":
        """Return this client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        super().forget()
        for counter in list(self._counters.values()):
            counter.forget()
        self.regions.forget()
        self._connecting = threading.RLock()
        self._inside = threading.local()
        """Whether this thread is `sending`."""
        self._http = None  # closed by the parent, which has the same connections

    def call(
        self,
        call: Call[T],
        deadline: float,
        order: Sequence[str] | None = None,
        *,
        each: float | None = None,
        nowhere: type[FailedEverywhere] = UnknownCounter,
    ) -> T:
        """Send a request to one region after the other until one answers.

        Args:
            call: the request.
            deadline: `time.monotonic()` at which to give up.
            order: the regions to ask, by default all: the nearest one first.
            each: seconds for one attempt.
            nowhere: the error if all that responded say 404.

        Raises:
            Refused, Unavailable, UnknownCounter: see `attempts`.
        """
        if order is None:
            self.locate(deadline)
            self._measure(deadline)
        return self._carry_out(self._steps(call, deadline, order, each, nowhere))

    def locate(self, deadline: float) -> None:
        """Read which regions are behind the address, if the client has one and doesn't know them."""
        if reading := self._reading(deadline):
            self._carry_out(reading)
        elif again := self._reading_again():
            self.background(lambda: self._carry_out(again))

    def check(self, region: str) -> Health:
        """Ask one region whether it can mint, and remember how long it took."""
        began = time.monotonic()
        answer: object = INTERRUPTED
        try:
            answer = self._send(region, calls.health(), self.options.attempt_timeout)
        finally:
            health = self._checked(region, answer, began)
        return health

    def ask(self, region: str, call: Call[T]) -> T | Failure:
        """Return one region's answer, after a single attempt."""
        return self._send(region, call, self.options.attempt_timeout)

    def _send(self, region: str, call: Call[T], seconds: float) -> T | Failure:
        """Return a region's answer. If the client was closed meanwhile, that is no failure of the region: ask again.

        A signal handler may interrupt its own thread while that sends. It gets a connection of its own, since those
        of the thread have locks that only the thread can release.
        """
        if getattr(self._inside, "sending", False):
            with keep_deadlines(self._make_http()) as http:
                return self._exchange.send(http, region, call, seconds)
        while True:
            generation = self._generation
            self._inside.sending = True
            try:
                answer = self._exchange.send(self._connected(), region, call, seconds)
            finally:
                self._inside.sending = False
            if not isinstance(answer, Failure) or generation == self._generation:
                return answer

    def _connected(self) -> httpx.Client:
        """Return the HTTP client, which is made when it is first needed."""
        here()
        thread = threading.current_thread()
        if isinstance(thread, Background) and thread.client is self and thread.generation != self._generation:
            raise Closed
        with self._connecting:
            self._http = self._http or keep_deadlines(self._make_http())
            return self._http

    def background(self, work: Callable[[], object]) -> bool:
        """Run `work` in a thread of its own, which doesn't keep the process alive. Errors are logged.

        Returns:
            Whether a thread could be started.
        """
        try:
            Background(self, self._generation, lambda: self._logged(work)).start()
        except RuntimeError:  # the interpreter is ending, or the system has no thread left
            log.debug("no thread can be started")
            return False
        return True

    def _carry_out(self, steps: Steps[T]) -> T:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            if isinstance(step, Ask):
                answer = self._send(step.region, step.call, step.seconds)
            else:
                time.sleep(step.seconds)
                answer = None

    def _measure(self, deadline: float) -> None:
        """Start the health checks that are due, in the background. The first call waits for one of them."""
        for region in self._to_check():
            if not self.background(lambda region=region: self.check(region)):
                self.regions.checked(region, None, ok=False)
        if self.regions.is_new:
            self.regions.wait_for_first(min(self.options.attempt_timeout, deadline - time.monotonic()))

    def _name_of_default(self) -> str:
        if self._default_name is None:
            status = self.call(calls.document("-/status"), time.monotonic() + self.options.timeout)
            self._default_name = str(status.get("counter"))
        return self._default_name

    def _logged(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Closed:
            log.debug("work in the background ended, since the client was closed")
        except Exception as error:
            log.warning("work in the background failed: %s", error)
