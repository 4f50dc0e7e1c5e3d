"""What a call does: it mints, with a lease or without, creates counters, and asks for owners and health.

A call is a coroutine. Tasks await it; in a thread, `threads.run` carries it out. `Threads` and `Tasks` have what is
different for them: how to wait, send, and work in the background.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import get_ident
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..errors import DeadlineExceeded, Event, FailedEverywhere, Leased, Refused, Unavailable
from . import api
from .api import MAX_BLOCK, ApiRequest, Failure, MintedBlock, Owner, checked_counter
from .domain import Domain
from .failover import Failover, Health, Regions
from .forks import Mark, Stale, here, loading
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


class State:
    """What of a client belongs to one process and, for tasks, to one event loop. A call works with one of these.

    It has all that a forked child must not share with its parent: leases, connections, locks, and who waits; except
    botocore's credentials, which all states share, with the lock that is held while they are renewed. It is over in a
    child, and once the client is closed. Then it is replaced whole, and calls that have begun with it begin again.
    """

    def __init__(self, client: "Client", regions: Regions) -> None:
        self.mark = here()
        self.closed = False
        self.regions = regions
        self.io = client.make_io()
        self._client = client
        self._buffers: WeakKeyDictionary[AnyCounter, LeaseBuffer] = WeakKeyDictionary()
        self._transport: Transport | None = None

    @property
    def is_over(self) -> bool:
        """Whether the client was closed, or this is a forked child."""
        return self.closed or not self.mark[0]

    def buffer(self, counter: "AnyCounter") -> LeaseBuffer:
        """Return what is leased of a counter."""
        found = self._buffers.get(counter)
        if found is None:
            options = self._client.options
            found = self._buffers.setdefault(counter, LeaseBuffer(options.lease, options.lease_seconds, time))
        return found

    def drop(self) -> None:
        """Drop all leases."""
        for counter in [reference() for reference in self._buffers.keyrefs()]:
            if counter is not None and (buffer := self._buffers.get(counter)) is not None:
                buffer.drop()

    async def close(self) -> None:
        """Close all connections, end what goes on in the background, and drop all leases."""
        self.closed = True
        self.drop()
        self.io.end()
        if self._transport is not None:
            await self._transport.close()

    async def call(self, request: ApiRequest[T], deadline: Deadline, order: Sequence[str] | None = None) -> T:
        """Send a request to one region after the other until one answers. See `Failover.answer`."""
        if order is None:
            await self.locate(deadline)
            await self._measure(deadline)
        try:
            return await self._failover().answer(request, deadline, order)
        except (Unavailable, Refused) as failed:
            if isinstance(failed, Unavailable) or failed.status in (401, 403):
                self.regions.outdated = True
            raise

    async def locate(self, deadline: Deadline) -> None:
        """If the client has a domain, make its regions known. See `Domain.locate`."""
        if self._client.domain is not None:
            await self._client.domain.locate(self._failover(), deadline, self.io.start)

    async def order(self, request: ApiRequest[Any], deadline: Deadline, *, key_failover: bool) -> list[str]:
        """Return the regions to ask for a key. See `Failover.order`."""
        await self.locate(deadline)
        self._start_checks(silent=True)
        return self._failover().order(request, deadline, key_failover=key_failover)

    async def ask(self, region: str, request: ApiRequest[T]) -> T | Failure:
        """Return one region's answer, after a single attempt."""
        options = self._client.options
        return await self._send(region, request, min(options.attempt_timeout, options.timeout))

    async def check(self, region: str) -> Health:
        """Ask one region whether it can mint, and remember how long it took."""
        clock = self.regions.clock
        try:
            self._sender()  # its import is not the region's latency
            began = clock()
            answer = await self.ask(region, api.health())
        except BaseException:  # it was interrupted, which says nothing of the region
            self.regions.uncheck(region)
            self.regions.wait_no_longer()
            raise
        return self.regions.checked(region, answer, clock() - began)

    async def health(self) -> dict[str, Health]:
        """Return each region's health. All are asked at the same time, in a signal handler one after the other."""
        await self.locate(self._client.options.deadline())
        names = self.regions.names
        timeout = self._client.options.timeout
        found = await self.io.run_all([partial(self.check, region) for region in names], timeout)
        late = Health(False, None, f"no response within {timeout:.3g} s")
        return {name: health or late for name, health in zip(names, found, strict=True)}

    def _failover(self) -> Failover:
        """Return what asks the regions. A state has none: so it is freed, with its connections, once unused."""
        return Failover(self.regions, self._send, self.io.sleep, self._client.tell)

    async def _send(self, region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Return a region's answer.

        Raises:
            Stale: there is none, since the client was closed or the process forked. That is no failure of the region.
        """
        if self.is_over:
            raise Stale
        try:
            answer = await self._sender().send(region, request, seconds)
        except (AttributeError, OSError, RuntimeError, ValueError):  # also of a connection that was closed here
            if self.is_over:
                raise Stale from None
            raise
        if isinstance(answer, Failure) and self.is_over:
            raise Stale
        return answer

    def _sender(self) -> "Transport":
        """Return what sends requests. It is imported when first needed: httpx takes most of the time of an import."""
        found = self._transport
        if found is None:
            with loading():
                from .transport import Transport

                client, clock = self._client, self.regions.clock
                made = Transport(
                    client.url, client.signature, client.tell, client.options.http, awaits=self.io.awaits, clock=clock
                )
                found = self._transport = self._transport or made
        return found

    def _start_checks(self, *, silent: bool = False) -> None:
        """Start the health checks that are due, in the background."""
        try:
            for region in self.regions.to_check(silent=silent):
                if not self.io.start(partial(self.check, region)):
                    self.regions.uncheck()
                    self.regions.wait_no_longer()
                    break
        except BaseException:  # a call that is interrupted leaves no region as being checked
            self.regions.uncheck()
            raise

    async def _measure(self, deadline: Deadline) -> None:
        """Start the health checks that are due. The first call waits for one of them."""
        self._start_checks()
        signal = self.regions.wait_for_first(self.io.make_signal)
        if signal is not None:
            await signal.wait(min(self._client.options.attempt_timeout, deadline.ends - self.regions.clock()))
            self.regions.wait_no_longer()


class Client:
    """What the counters of one `Integers` or `AsyncIntegers` share."""

    def __init__(self, options: Options, make_io: "Callable[[], Threads | Tasks]") -> None:
        self.options = options
        self.make_io = make_io
        self.domain: Domain | None = None
        self.url: Callable[[str], str]
        self.signature: Callable[[str], Signature | None]
        names: Iterable[str]
        if isinstance(options.urls, str):
            self.domain = Domain(options.urls, options)
            names = [self.domain.name] if self.domain.alone else []
            self.url, self.signature = self.domain.url, self.domain.signature
        else:
            names = options.urls
            self.url, self.signature = options.urls.__getitem__, signatures(options.urls, options.sign).get
        self.counters: dict[str, Any] = {}
        """By name, the oldest first; "" is the default one."""
        self._in_use: WeakValueDictionary[str, Any] = WeakValueDictionary()
        """Also those that are only kept by a caller, or by a call that goes on."""
        self._pinned = {"": options.counter} if options.counter else {}
        self.last = State(self, Regions(names, options.prefer, options.clock))
        """The state that was begun last: the next one knows what it knows of the regions."""
        self._states: dict[tuple[Mark, Any], State] = {(self.last.mark, None): self.last}

    @property
    def state(self) -> State:
        """The state of this process and event loop."""
        key = here(), self.last.io.loop()
        return self._states.get(key) or self._begin(key)

    def _begin(self, key: tuple[Mark, Any]) -> State:
        """Begin a state. If several threads do so at once, they get the same one."""
        self._forget()
        self.last = self._states.setdefault(key, State(self, self.last.regions.copied()))
        return self.last

    def _forget(self) -> None:
        """Forget the states of another process, and of event loops that have ended."""
        for mark, loop in list(self._states):
            if not mark[0] or (loop is not None and loop.is_closed()):
                ended = self._states.pop((mark, loop), None)
                if ended is not None and mark[0]:  # else a thread that only the parent has may hold its locks
                    ended.drop()

    async def with_state(self, act: Callable[[State], Awaitable[T]]) -> T:
        """Return what is done with a state. If it is over meanwhile, it is done again with the next one."""
        while True:
            with suppress(Stale):
                return await act(self.state)

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

    async def close(self) -> None:
        """Close all connections of this process and event loop, and drop what is leased there."""
        self._forget()
        closed = self._states.pop((here(), self.last.io.loop()), None)
        if closed is not None:
            await closed.close()

    def tell(self, event: Event) -> None:
        """Tell the observer. An error that it raises is logged; the call goes on."""
        if self.options.observer is not None:
            try:
                self.options.observer(event)
            except Exception:
                log.exception("the observer failed")

    async def call(self, request: ApiRequest[T], deadline: Deadline, order: Sequence[str] | None = None) -> T:
        """Send a request to one region after the other until one answers. See `Failover.answer`."""
        return await self.with_state(lambda state: state.call(request, deadline, order))

    async def owner(self, integer: int, counter: str | None) -> Owner:
        """Return the owner of an integer of a counter, by default of the default one."""
        deadline = self.options.deadline()
        if counter is None and not self.default_name:
            self.pin(await self.call(api.default_counter(), deadline))
        request = api.owner(self.default_name if counter is None else counter, integer)
        found, knows = await self.call(request, deadline)
        if knows is not None and knows in self.last.regions.names:
            with suppress(FailedEverywhere):  # then who owns it is known, but not whether it was minted
                found, _ = await self.call(request, deadline, [knows])
        return found

    async def create(self, counter: str, timeout: float) -> bool:
        """Create a counter in every region. Return whether it is new."""
        return await self.call(api.create(counter), Deadline(self.options.clock() + timeout, timeout, timeout / 2))


class AnyCounter:
    """A counter of a client: its name, "" for the default one, and its leased integers."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self.client = client
        self._buffer = client.last.buffer(self)
        """That of the last call's state, where `next` looks first."""

    def __repr__(self) -> str:
        client: Client | None = getattr(self, "client", None)  # there is none if its options were refused
        if client is None:
            return f"<{type(self).__name__} (never made)>"
        name, regions = self.name or client.default_name, client.last.regions
        domain = "" if client.domain is None else f" domain={client.domain.name}"
        known = ", ".join(f"{region} ({regions.known(region)})" for region in regions.names) or "not known yet"
        counter = repr(name) if name else "default counter"
        return f"<{type(self).__name__} {counter}{domain} regions={known} lease={client.options.lease}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} can't be copied or pickled; share it, or make one in each process")

    def __contains__(self, item: object) -> NoReturn:
        instead = f"integers[{str(item)!r}] is the counter of this name, and integers.owner(n) says who mints n"
        raise TypeError(f"{item!r} can't be looked for by minting: {instead}")

    async def _taken(self, count: int, key: str | None, key_failover: bool) -> list[int]:
        if key_failover and key is None:
            raise ValueError("key_failover=True needs a key")
        if type(count) is not int or count < 0:
            raise ValueError(f"{count!r} is not an integer from 0 on")
        deadline = self.client.options.deadline()
        while True:
            mark = here()
            if key is not None:
                keyed = partial(self._keyed, count=count, key=key, key_failover=key_failover, deadline=deadline)
                taken = list((await self.client.with_state(keyed)).integers())
            else:
                taken = self.client.state.buffer(self).take_many(count)
                while len(taken) < count:
                    more = partial(self._mint, count=min(count - len(taken), MAX_BLOCK), deadline=deadline)
                    taken.extend((await self.client.with_state(more)).integers())
            if mark[0]:
                return taken

    async def _next(self) -> int:
        """Take an integer of the next block, or of a request of its own."""
        deadline = self.client.options.deadline()
        while True:
            mark = here()
            integer = await self.client.with_state(partial(self._one, deadline=deadline))
            if integer and mark[0]:  # else this is a forked child, and its parent has this integer
                return integer

    async def _one(self, state: State, deadline: Deadline) -> int:
        """Mint an integer, or take the next one that is leased, or fetch a block, or wait for one; 0: try again."""
        if self.client.options.lease == 1:
            return (await self._mint(state, 1, deadline)).first
        buffer, turn = state.buffer(self), FetchTurn(state.io.caller(), state.io.make_signal())
        self._buffer, buffer.thread = buffer, get_ident()
        try:
            buffer.begin(turn)
            if turn.size:
                await self._fetch(state, turn, deadline)
            elif turn.waits:
                if not await turn.signal.wait(deadline.ends - self.client.options.clock()):
                    within = f"no block was fetched within {deadline.timeout:.3g} s"
                    raise DeadlineExceeded(f"{api.subject(self.name)}: {within}:", state.regions.reasons())
            elif buffer.is_low:
                state.io.start(partial(self._fetch_ahead, state))
        finally:
            buffer.end(turn)
        return turn.integer

    async def _fetch_ahead(self, state: State) -> None:
        """Fetch the next block while the present one is in use."""
        buffer, turn = state.buffer(self), FetchTurn(state.io.caller(), state.io.make_signal())
        try:
            buffer.begin_ahead(turn)
            if turn.size:
                await self._fetch(state, turn, self.client.options.deadline())
        finally:
            buffer.end(turn)

    async def _fetch(self, state: State, turn: FetchTurn, deadline: Deadline) -> None:
        block, buffer = await self._mint(state, turn.size, deadline), state.buffer(self)
        buffer.limit(state.regions.max_block)
        buffer.add(block, turn)
        self.client.tell(Leased(self.name, block.region, block.count))

    async def _mint(
        self, state: State, count: int, deadline: Deadline, key: str | None = None, order: Sequence[str] | None = None
    ) -> MintedBlock:
        """Mint a block. Once its name is known, the default counter is asked for by its name, too."""
        while True:
            most = state.regions.max_block if key is None else count
            request = api.mint(self.name or self.client.default_name, min(count, most), key)
            block = await state.call(request, deadline, order)
            pinned = self.name or self.client.pin(block.counter)
            if block.counter == pinned:
                return block
            # Of two first requests, one was answered before a deployment. The integers of the other are a gap.
            log.warning(
                "the default counter of %s is now %r, and not %r as before", block.region, block.counter, pinned
            )

    async def _keyed(self, state: State, count: int, key: str, key_failover: bool, deadline: Deadline) -> MintedBlock:
        """Mint with a key, in its region: only that one can return the same integers again."""
        request = api.mint(self.name, count, key)  # nothing is asked for what is wrong
        order = await state.order(request, deadline, key_failover=key_failover)
        return await self._mint(state, count, deadline, key, order)


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
        super().__init__(Client(checked, self._io), checked.counter or "")
        self.client.counters[""] = self

    def __getitem__(self, counter: str) -> C:
        """Return a counter. It is always the same object as long as you keep it, so its lease is shared.

        The client itself keeps the newest 1,000. What an older one has leased is a gap, unless you keep the counter.

        Raises:
            ValueError: no counter can have this name.
        """
        return self.client.counter(checked_counter(counter), lambda: self._counter(self.client, counter))
