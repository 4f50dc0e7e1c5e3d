"""What minting from a counter takes, the same for threads and for tasks. No I/O."""

from abc import abstractmethod
from time import monotonic, time
from typing import Any, NoReturn

from .client import Client
from .errors import DeadlineExceeded
from .events import Leased
from .protocol import api
from .protocol.api import MAX_BLOCK, MintedBlock, checked_size
from .protocol.failover import order_of
from .protocol.lease_buffer import FetchTurn, Lease, LeaseBuffer
from .protocol.steps import Await, Start, Steps


class AnyCounter:
    """A counter of a client: its name, and its leased integers."""

    def __init__(self, client: Client[Any], name: str) -> None:
        """Use the counter `name`, "" for the default one."""
        self.name = name
        self.client = client
        self.forget()

    def forget(self) -> None:
        """Start anew. For a forked process: its parent has the same leases."""
        self._buffer = LeaseBuffer(self.client.options.lease, self.client.options.lease_seconds, time)

    def drop(self) -> None:
        """Drop what is leased: a gap."""
        self._buffer.drop()

    @abstractmethod
    def _share(self) -> Lease | None:
        """Return this thread's or task's share of the last block that it waited for."""

    @abstractmethod
    def _keep(self, share: Lease | None) -> None:
        """Keep this as its share."""

    def __repr__(self) -> str:
        """Return the name, the regions, what is known of each, and the lease. No request is sent."""
        client: Client[Any] | None = getattr(self, "client", None)  # there is none if its options were refused
        return f"<{type(self).__name__} {client.described(self.name) if client else '(never made)'}>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: a copy would hand out the same integers."""
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled; share it, or make one in each process")

    def __contains__(self, item: object) -> NoReturn:
        """Refuse: looking for an item would mint until it is found."""
        raise TypeError(
            f"{item!r} can't be looked for by minting: integers[{str(item)!r}] is the counter of this name, and "
            "integers.owner(n) says who mints n"
        )

    def _take(self, count: int, key: str | None) -> Steps[list[int]]:
        """Take `count` integers."""
        checked_size(count)
        deadline = self._deadline()
        while True:
            mark = self.client.mark()
            if key is not None:
                taken = list((yield from self._keyed(count, key, deadline)).integers())
            else:
                taken = self._buffer.take_many(count)
                while len(taken) < count:
                    block = yield from self._mint(min(count - len(taken), MAX_BLOCK), deadline)
                    taken.extend(block.integers())
            if mark[0]:
                return taken

    def _next(self) -> Steps[int]:
        """Take an integer of the next block, or of a request of its own."""
        deadline = self._deadline()
        while True:
            mark = self.client.mark()
            if self.client.options.lease == 1:
                integer = (yield from self._mint(1, deadline)).first
            else:
                integer = yield from self._leased(deadline)
            if integer and mark[0]:  # else this is a forked child, and its parent has this integer
                return integer

    def _leased(self, deadline: float) -> Steps[int]:
        """Take the next integer that is leased, or fetch a block, or wait for one; 0: try again."""
        buffer, turn = self._buffer, FetchTurn(self.client.caller(), self.client.signal(), self._share())
        try:
            buffer.begin(turn)
            if turn.size:
                yield from self._fetch(buffer, turn, deadline)
            elif turn.waits:
                if not (yield Await(turn.signal, deadline - monotonic())):
                    raise self._no_block()
                buffer.take_share(turn)
            elif buffer.is_low:
                yield Start(self._fetch_ahead())
        finally:
            buffer.end(turn)
        if buffer is not self._buffer:
            return 0
        self._keep(turn.share)
        return turn.integer

    def _fetch_ahead(self) -> Steps[None]:
        """Fetch the next block while the present one is in use."""
        buffer, turn = self._buffer, FetchTurn(self.client.caller(), self.client.signal())
        try:
            buffer.begin_ahead(turn)
            if turn.size:
                yield from self._fetch(buffer, turn, self._deadline())
        finally:
            buffer.end(turn)

    def _fetch(self, buffer: LeaseBuffer, turn: FetchTurn, deadline: float) -> Steps[None]:
        block = yield from self._mint(turn.size, deadline)
        buffer.add(block, turn)
        self.client.tell(Leased(self.name, block.region, block.count))

    def _mint(self, count: int, deadline: float) -> Steps[MintedBlock]:
        return (yield from self.client.call(api.mint(self.name, count), deadline))

    def _keyed(self, count: int, key: str, deadline: float) -> Steps[MintedBlock]:
        """Mint with a key, in its region: only that one can return the same integers again."""
        request = api.mint(self.name, count, key)
        yield from self.client.locate(deadline)
        order = order_of(key, self.client.urls)[: None if self.client.options.key_failover else 1]
        return (yield from self.client.call(request, deadline, order))

    def _deadline(self) -> float:
        return monotonic() + self.client.options.timeout

    def _no_block(self) -> DeadlineExceeded:
        subject, reasons = api.subject(self.name), self.client.regions.reasons()
        return DeadlineExceeded(f"{subject}: no block was fetched within {self.client.options.timeout:.3g} s:", reasons)
