"""A client: its regions, its policy of failover, how it sends, and its counters. No I/O.

Every call is a generator of steps. `threads.py` and `tasks.py` carry out the same steps in their own way.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from .errors import FailedEverywhere
from .events import Event, FailedOver
from .options import Options
from .protocol import api
from .protocol.address import Address
from .protocol.api import ApiRequest, Failure, Owner
from .protocol.failover import attempts
from .protocol.forks import Mark, forget_in_children, loading
from .protocol.regions import Health, Regions
from .protocol.signing import Signature, signatures
from .protocol.steps import Await, RunAll, Send, Signal, Start, Steps

if TYPE_CHECKING:
    from .transport import Transport


class Leasing(Protocol):
    """What a client needs of a counter."""

    def forget(self) -> None:
        """Drop what a forked child must not share with its parent."""
        ...

    def drop(self) -> None:
        """Drop what is leased."""
        ...


C = TypeVar("C", bound=Leasing)
T = TypeVar("T")
log = logging.getLogger("global_integers")


class Client(Generic[C]):
    """A client whose counters are `C`s.

    Attributes:
        options: its settings.
        urls: the URL of each region. Those of an address are unknown before the first call.
        regions: what is known of each region.
    """

    def __init__(self, options: Options, make_counter: Callable[[str], C]) -> None:
        """Prepare. No region is asked.

        Args:
            options: the client's settings.
            make_counter: returns the counter of a name.

        Raises:
            ValueError: the address can't be one of a stack.
            CannotSign: see `signatures`.
        """
        self.options = options
        self.urls: Mapping[str, str]
        self._address: Address | None = None
        self._signatures: Mapping[str, Signature | None]
        if isinstance(options.urls, str):
            self._address = self.urls = Address(options.urls, options.sign)
            self._signatures = self._address.signatures
        else:
            self.urls, self._signatures = options.urls, signatures(options.urls, options.sign)
        self.regions = Regions(self.urls, options.prefer)
        self._make_counter = make_counter
        self._counters: dict[str, C] = {}
        self._default_name: str | None = options.counter or None
        self._transport: Transport | None = None
        forget_in_children(self)

    @abstractmethod
    def mark(self) -> Mark:
        """Return this process's mark, after starting anew where that is needed."""

    @abstractmethod
    def caller(self) -> object:
        """Return what stands for this thread or task, and ends with it."""

    @abstractmethod
    def signal(self) -> Signal:
        """Return a signal that this thread or task can wait for."""

    @property
    def transport(self) -> "Transport":
        """What sends requests. It is imported when first needed: httpx takes most of the time of an import."""
        found = self._transport
        if found is None:
            with loading:
                from .transport import Transport

                found = self._transport = self._transport or Transport(self.urls, self._signatures, self.tell)
        return found

    def described(self, counter: str) -> str:
        """Return a counter's name (by default that of the default one, once it is known), the regions, the lease."""
        name = counter or self._default_name
        address = "" if self._address is None else f" address={self._address.name}"
        known = ", ".join(f"{region} ({self.regions.known(region)})" for region in self.urls) or "not known yet"
        return f"{repr(name) if name else 'default counter'}{address} regions={known} lease={self.options.lease}"

    def counter(self, name: str) -> C:
        """Return a counter. It is always the same object, so its lease is shared.

        Raises:
            ValueError: no counter can have this name.
        """
        found = self._counters.get(name)
        if found is None:
            found = self._counters.setdefault(name, self._make_counter(api.checked_counter(name)))
        return found

    def default(self, counter: C) -> None:
        """Let a counter be the default one."""
        self._counters[""] = counter

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        self._transport = None
        for counter in list(self._counters.values()):
            counter.forget()
        self.regions.forget()

    def drop(self) -> None:
        """Drop all leases, which leaves gaps."""
        for counter in list(self._counters.values()):
            counter.drop()

    def tell(self, event: Event) -> None:
        """Tell the observer. An error that it raises is logged; the call goes on."""
        if self.options.observer is not None:
            try:
                self.options.observer(event)
            except Exception:
                log.exception("the observer failed")

    def call(
        self,
        request: ApiRequest[T],
        deadline: float,
        order: Sequence[str] | None = None,
        each: float | None = None,
        timeout: float | None = None,
    ) -> Steps[T]:
        """Send a request to one region after the other until one answers. Return the answer.

        Args:
            request: the request.
            deadline: `time.monotonic()` at which to give up.
            order: the regions to ask, by default all: the nearest one first.
            each: seconds for one attempt.
            timeout: seconds of the whole call, by default those of the options; for messages.

        Raises:
            Refused, Unavailable, UnknownCounter, UnknownOwner: see `attempts`.
        """
        if order is None:
            yield from self.locate(deadline)
            yield from self._measure(deadline)
        ordered = (lambda: order) if order is not None else self.regions.order
        seconds, each = max(deadline - monotonic(), 0), each or self.options.attempt_timeout
        timeout = timeout or self.options.timeout
        steps = attempts(request, self.regions, ordered, seconds, timeout, each, self._failed_over)
        return (yield from steps if self._address is None else self._address.watched(steps))

    def locate(self, deadline: float) -> Steps[None]:
        """Read which regions are behind the address, if the client has one and doesn't know them.

        Raises:
            Unavailable, Refused, CannotSign: see `Address.reading`.
        """
        if self._address is None:
            return
        if self._address.must_be_read:
            yield from self._address.reading(self.regions, self.options, max(deadline - monotonic(), 0))
        elif self._address.may_have_changed():
            yield Start(self._address.reading(self.regions, self.options, self.options.timeout))

    def ask(self, region: str, request: ApiRequest[T]) -> Steps[T | Failure]:
        """Return one region's answer, after a single attempt."""
        return (yield Send(region, request, min(self.options.attempt_timeout, self.options.timeout)))

    def check(self, region: str) -> Steps[Health]:
        """Ask one region whether it can mint, and remember how long it took."""
        try:
            _ = self.transport  # its import is not the region's latency
            began = monotonic()
            answer = yield from self.ask(region, api.health())
        except BaseException:  # it was interrupted, which says nothing of the region
            self.regions.uncheck(region)
            self.regions.wait_no_longer()
            raise
        health = Health.of(answer, monotonic() - began)
        self.regions.checked(region, health)
        return health

    def health(self) -> Steps[dict[str, Health]]:
        """Return each region's health. All are asked at the same time."""
        yield from self.locate(monotonic() + self.options.timeout)
        names = list(self.urls)
        found: list[Health] = yield RunAll([self.check(region) for region in names])
        return dict(zip(names, found, strict=True))

    def owner(self, integer: int, counter: str | None) -> Steps[Owner]:
        """Return the owner of an integer of a counter, by default of the default one."""
        deadline = monotonic() + self.options.timeout
        name = counter or (yield from self._name_of_default(deadline))
        request = api.owner(name, integer)
        found, knows = yield from self.call(request, deadline)
        if knows is not None and knows in self.urls:
            with suppress(FailedEverywhere):  # then who owns it is known, but not whether it was minted
                found, _ = yield from self.call(request, deadline, [knows])
        return found

    def create(self, counter: str, timeout: float) -> Steps[bool]:
        """Create a counter in every region. Return whether it is new."""
        return (yield from self.call(api.create(counter), monotonic() + timeout, each=timeout / 2, timeout=timeout))

    def _measure(self, deadline: float) -> Steps[None]:
        """Start the health checks that are due, in the background. The first call waits for one of them."""
        try:
            due = self.regions.to_check() if len(self.urls) > 1 else []  # with one region, there is nothing to choose
            for region in due:
                if not (yield Start(self.check(region))):
                    self.regions.uncheck()
                    self.regions.wait_no_longer()
                    break
        except BaseException:  # a call that is interrupted leaves no region as being checked
            self.regions.uncheck()
            raise
        signal = self.regions.wait_for_first(self.signal)
        if signal is not None:
            yield Await(signal, min(self.options.attempt_timeout, deadline - monotonic()))
            self.regions.wait_no_longer()

    def _failed_over(self, failed: str, following: str, reason: str) -> None:
        self.tell(FailedOver(failed, following, reason))

    def _name_of_default(self, deadline: float) -> Steps[str]:
        if self._default_name is None:
            self._default_name = yield from self.call(api.default_counter(), deadline)
        return self._default_name
