"""What a call does: it mints, with a lease or without, creates counters, and asks for owners and health.

A call is a coroutine. Tasks await it; in a thread, `threads.run` carries it out. `Threads` and `Tasks` have what is
different for them: how to wait, send, and work in the background.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar
from weakref import WeakValueDictionary

from ..errors import DeadlineExceeded, Event, FailedEverywhere, Leased, Refused, Unavailable
from . import api
from .api import MAX_BLOCK, ApiRequest, Failure, MintedBlock, Owner, checked_counter
from .domain import Domain
from .failover import Failover, Health, Regions, order_of
from .forks import Mark, clients, here, loading
from .lease_buffer import FetchTurn, LeaseBuffer
from .options import ClientSettings, Deadline, Options
from .signing import Signature, signatures

if TYPE_CHECKING:
    from typing import Unpack

    from .tasks import Tasks
    from .threads import Threads
    from .transport import Transport

C = TypeVar("C", bound="AnyCounter")
H = TypeVar("H")
T = TypeVar("T")
log = logging.getLogger("global_integers")

MAX_COUNTERS = 1000
"""The largest number of counters that a client keeps, each with its lease, like a function (lambda/mint/leases.py)."""


class Client:
    """What the counters of one `Integers` or `AsyncIntegers` share."""

    def __init__(self, options: Options, io: "Threads | Tasks") -> None:
        self.options = options
        self.domain: Domain | None = None
        self._url: Callable[[str], str]
        self._signature: Callable[[str], Signature | None]
        names: Iterable[str]
        if isinstance(options.urls, str):
            self.domain = Domain(options.urls, options)
            names = [self.domain.name] if self.domain.alone else []
            self._url, self._signature = self.domain.url, self.domain.signature
        else:
            names = options.urls
            self._url, self._signature = options.urls.__getitem__, signatures(options.urls, options.sign).get
        self.regions = Regions(names, options.prefer, options.clock)
        self.io = io
        self._failover = Failover(self.regions, self._send, io.sleep, self.tell)
        self.counters: dict[str, Any] = {}
        """By name, the oldest first; "" is the default one."""
        self._in_use: WeakValueDictionary[str, Any] = WeakValueDictionary()
        """Also those that are only kept by a caller, or by a call that goes on."""
        self._pinned = {"": options.counter} if options.counter else {}
        self._transport: Transport | None = None
        clients.add(self)

    @property
    def default_name(self) -> str:
        """The default counter's name, "" before the first response about it."""
        return self._pinned.get("", "")

    def pin(self, counter: str) -> str:
        """Return the default counter's name: that of the first response, whatever later ones say.

        So a deployment with another default counter doesn't give this client's callers integers of it.
        """
        return self._pinned.setdefault("", counter)  # one step, so threads and signal handlers agree

    def counter(self, name: str, make: Callable[[], T]) -> T:
        """Return the counter of this name, always the same object while somebody keeps it, or make it.

        Beyond `MAX_COUNTERS`, the oldest is forgotten, unless a caller or a call keeps it. Its lease is then a gap.
        """
        found = self.counters.get(name)
        if found is None:
            found = self.counters.setdefault(name, self._in_use.get(name) or make())
            self._in_use[name] = found
            for oldest in list(self.counters)[1:-MAX_COUNTERS]:  # the first one is the client's own
                self.counters.pop(oldest, None)
        return found

    def mark(self) -> Mark:
        """Return this process's mark. In a forked process, and in another event loop, the client starts anew first."""
        mark = here()
        if self.io.is_elsewhere():
            self.forget()
        return mark

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        self.io.forget()
        self._transport = None
        for counter in self._all():
            counter.forget()
        self.regions.forget()

    async def close(self) -> None:
        """Close all connections, end what goes on in the background, and drop all leases."""
        self.mark()
        self.regions.uncheck()
        for counter in self._all():
            counter.drop()
        await self.io.close()

    def _all(self) -> list[Any]:
        return [self.counters[""], *self._in_use.values()] if self.counters else []

    def tell(self, event: Event) -> None:
        """Tell the observer. An error that it raises is logged; the call goes on."""
        if self.options.observer is not None:
            try:
                self.options.observer(event)
            except Exception:
                log.exception("the observer failed")

    def turn(self) -> FetchTurn:
        """Return a turn of this thread or task to get an integer."""
        return FetchTurn(self.io.caller(), self.io.make_signal())

    async def call(self, request: ApiRequest[T], deadline: Deadline, order: Sequence[str] | None = None) -> T:
        """Send a request to one region after the other until one answers. See `Failover.answer`."""
        if order is None:
            await self.locate(deadline)
            await self._measure(deadline)
        try:
            return await self._failover.answer(request, deadline, order)
        except (Unavailable, Refused) as failed:
            if isinstance(failed, Unavailable) or failed.status in (401, 403):
                self.regions.outdated = True
            raise

    async def locate(self, deadline: Deadline) -> None:
        """If the client has a domain, make its regions known. See `Domain.locate`."""
        self.mark()
        if self.domain is not None:
            await self.domain.locate(self._failover, deadline, self.io.start)

    async def ask(self, region: str, request: ApiRequest[T]) -> T | Failure:
        """Return one region's answer, after a single attempt."""
        return await self._send(region, request, min(self.options.attempt_timeout, self.options.timeout))

    async def check(self, region: str) -> Health:
        """Ask one region whether it can mint, and remember how long it took."""
        try:
            self._sender()  # its import is not the region's latency
            began = self.options.clock()
            answer = await self.ask(region, api.health())
        except BaseException:  # it was interrupted, which says nothing of the region
            self.regions.uncheck(region)
            self.regions.wait_no_longer()
            raise
        return self.regions.checked(region, answer, self.options.clock() - began)

    async def health(self) -> dict[str, Health]:
        """Return each region's health. All are asked at the same time, in a signal handler one after the other."""
        await self.locate(self.options.deadline())
        names = self.regions.names
        timeout = self.options.timeout
        found = await self.io.run_all([partial(self.check, region) for region in names], timeout)
        late = Health(False, None, f"no response within {timeout:.3g} s")
        return {name: health or late for name, health in zip(names, found, strict=True)}

    async def owner(self, integer: int, counter: str | None) -> Owner:
        """Return the owner of an integer of a counter, by default of the default one."""
        deadline = self.options.deadline()
        if counter is None and not self.default_name:
            self.pin(await self.call(api.default_counter(), deadline))
        request = api.owner(self.default_name if counter is None else counter, integer)
        found, knows = await self.call(request, deadline)
        if knows is not None and knows in self.regions.names:
            with suppress(FailedEverywhere):  # then who owns it is known, but not whether it was minted
                found, _ = await self.call(request, deadline, [knows])
        return found

    async def create(self, counter: str, timeout: float) -> bool:
        """Create a counter in every region. Return whether it is new."""
        return await self.call(api.create(counter), Deadline(self.options.clock() + timeout, timeout, timeout / 2))

    async def _send(self, region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Return a region's answer. If the client was closed or the process forked meanwhile, ask again.

        That is no failure of the region.
        """
        while True:
            mark = self.mark()
            generation = self.io.generation
            try:
                answer = await self.io.send(self._sender(), region, request, seconds)
            except (AttributeError, OSError, RuntimeError, ValueError):
                if mark[0]:
                    raise
                continue  # it was forked meanwhile, and its parent's connection was closed here
            if not isinstance(answer, Failure) or (generation == self.io.generation and mark[0]):
                return answer

    def _sender(self) -> "Transport":
        """Return what sends requests. It is imported when first needed: httpx takes most of the time of an import."""
        found = self._transport
        if found is None:
            with loading:
                from .transport import Transport

                found = self._transport = self._transport or Transport(
                    self._url,
                    self._signature,
                    self.tell,
                    self.options.http,
                    awaits=self.io.awaits,
                    clock=self.options.clock,
                )
        return found

    async def _measure(self, deadline: Deadline) -> None:
        """Start the health checks that are due, in the background. The first call waits for one of them."""
        try:
            for region in self.regions.to_check():
                if not self.io.start(partial(self.check, region)):
                    self.regions.uncheck()
                    self.regions.wait_no_longer()
                    break
        except BaseException:  # a call that is interrupted leaves no region as being checked
            self.regions.uncheck()
            raise
        signal = self.regions.wait_for_first(self.io.make_signal)
        if signal is not None:
            await signal.wait(min(self.options.attempt_timeout, deadline.ends - self.options.clock()))
            self.regions.wait_no_longer()


class AnyCounter:
    """A counter of a client: its name, "" for the default one, and its leased integers."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self.client = client
        self.forget()

    def forget(self) -> None:
        """Start anew. For a forked process, whose parent has the same leases, and for another event loop."""
        self._buffer = LeaseBuffer(self.client.options.lease, self.client.options.lease_seconds, time)

    def drop(self) -> None:
        """Drop what is leased: a gap."""
        self._buffer.drop()

    def __repr__(self) -> str:
        client: Client | None = getattr(self, "client", None)  # there is none if its options were refused
        if client is None:
            return f"<{type(self).__name__} (never made)>"
        name, regions = self.name or client.default_name, client.regions
        domain = "" if client.domain is None else f" domain={client.domain.name}"
        known = ", ".join(f"{region} ({regions.known(region)})" for region in regions.names) or "not known yet"
        counter = repr(name) if name else "default counter"
        return f"<{type(self).__name__} {counter}{domain} regions={known} lease={client.options.lease}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled; share it, or make one in each process")

    def __contains__(self, item: object) -> NoReturn:
        instead = f"integers[{str(item)!r}] is the counter of this name, and integers.owner(n) says who mints n"
        raise TypeError(f"{item!r} can't be looked for by minting: {instead}")

    async def _taken(self, count: int, key: str | None) -> list[int]:
        if type(count) is not int or count < 0:
            raise ValueError(f"{count!r} is not an integer from 0 on")
        deadline = self.client.options.deadline()
        while True:
            mark = self.client.mark()
            if key is not None:
                taken = list((await self._keyed(count, key, deadline)).integers())
            else:
                taken = self._buffer.take_many(count)
                while len(taken) < count:
                    block = await self._mint(min(count - len(taken), MAX_BLOCK), deadline)
                    taken.extend(block.integers())
            if mark[0]:
                return taken

    async def _next(self) -> int:
        """Take an integer of the next block, or of a request of its own."""
        deadline = self.client.options.deadline()
        while True:
            mark = self.client.mark()
            if self.client.options.lease == 1:
                integer = (await self._mint(1, deadline)).first
            else:
                integer = await self._leased(deadline)
            if integer and mark[0]:  # else this is a forked child, and its parent has this integer
                return integer

    async def _leased(self, deadline: Deadline) -> int:
        """Take the next integer that is leased, or fetch a block, or wait for one; 0: try again."""
        buffer, turn = self._buffer, self.client.turn()
        try:
            buffer.begin(turn)
            if turn.size:
                await self._fetch(buffer, turn, deadline)
            elif turn.waits:
                if not await turn.signal.wait(deadline.ends - self.client.options.clock()):
                    within = f"no block was fetched within {deadline.timeout:.3g} s"
                    raise DeadlineExceeded(f"{api.subject(self.name)}: {within}:", self.client.regions.reasons())
            elif buffer.is_low:
                self.client.io.start(self._fetch_ahead)
        finally:
            buffer.end(turn)
        return turn.integer if buffer is self._buffer else 0

    async def _fetch_ahead(self) -> None:
        """Fetch the next block while the present one is in use."""
        buffer, turn = self._buffer, self.client.turn()
        try:
            buffer.begin_ahead(turn)
            if turn.size:
                await self._fetch(buffer, turn, self.client.options.deadline())
        finally:
            buffer.end(turn)

    async def _fetch(self, buffer: LeaseBuffer, turn: FetchTurn, deadline: Deadline) -> None:
        block = await self._mint(turn.size, deadline)
        buffer.limit(self.client.regions.max_block)
        buffer.add(block, turn)
        self.client.tell(Leased(self.name, block.region, block.count))

    async def _mint(
        self, count: int, deadline: Deadline, key: str | None = None, order: Sequence[str] | None = None
    ) -> MintedBlock:
        """Mint a block. Once its name is known, the default counter is asked for by its name, too."""
        while True:
            most = self.client.regions.max_block if key is None else count
            request = api.mint(self.name or self.client.default_name, min(count, most), key)
            block = await self.client.call(request, deadline, order)
            pinned = self.name or self.client.pin(block.counter)
            if block.counter == pinned:
                return block
            # Of two first requests, one was answered before a deployment. The integers of the other are a gap.
            log.warning(
                "the default counter of %s is now %r, and not %r as before", block.region, block.counter, pinned
            )

    async def _keyed(self, count: int, key: str, deadline: Deadline) -> MintedBlock:
        """Mint with a key, in its region: only that one can return the same integers again."""
        api.mint(self.name, count, key)  # nothing is asked for what is wrong
        await self.client.locate(deadline)
        order = order_of(key, self.client.regions.names)[: None if self.client.options.key_failover else 1]
        return await self._mint(count, deadline, key, order)


class AnyIntegers(AnyCounter, Generic[C, H]):
    """What `Integers` and `AsyncIntegers` have in common. `C` is the class of their counters, `H` of HTTP clients.

    They define the methods that a user calls with arguments themselves, so that Python's errors name them.
    """

    _counter: type[C]
    _io: "Callable[[], Threads | Tasks]"
    _clock: Callable[[], float] = staticmethod(monotonic)
    """What deadlines and pauses are measured by, in seconds. That of `global_integers.testing` stands still."""

    def __init__(self, urls: Mapping[str, str] | str, **options: "Unpack[ClientSettings[H]]") -> None:
        checked = Options.of(urls, options, self._clock)
        super().__init__(Client(checked, self._io()), checked.counter or "")
        self.client.counters[""] = self

    def __getitem__(self, counter: str) -> C:
        """Return a counter. It is always the same object as long as you keep it, so its lease is shared.

        The client itself keeps the newest 1,000. What an older one has leased is a gap, unless you keep the counter.

        Raises:
            ValueError: no counter can have this name.
        """
        return self.client.counter(checked_counter(counter), lambda: self._counter(self.client, counter))
