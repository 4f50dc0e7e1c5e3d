"""The client for threads."""

from collections.abc import Iterator, Mapping
from threading import get_ident
from time import time
from typing import TYPE_CHECKING

from .minting import AnyCounter, AnyIntegers, State
from .minting.api import Owner
from .minting.failover import Health
from .minting.lease_buffer import first_of
from .minting.options import ClientSettings, urls_from_environment
from .minting.threads import Threads, run

if TYPE_CHECKING:
    from typing import Self, Unpack

    import httpx


class Counter(AnyCounter):
    """A counter. `next` and `take` may be called from any thread; the iterator never ends."""

    def next(self, *, key: str | None = None, key_failover: bool = False) -> int:
        """Return the next integer: from a lease, or minted by the nearest healthy region.

        What is leased is handed out for up to `lease_seconds`, also if a floor, the regions or the counter itself were
        changed or deleted meanwhile.

        Args:
            key: an idempotency key. The same key returns the same integer, in any process, for the stack's
                `idempotencyHours`. Each counter has keys of its own, and with the stack's setting `callers` also
                each user or role. One region keeps the key: see `Integers`. If that region leaves or loses its
                receipts table, or another one joins, the same key may return another integer.
            key_failover: whether other regions are asked if the key's region fails. This gives up the key's promise:
                the same key can have two integers, one of each region, if it was used before or is used again. Each
                time, an observer gets `FailedOver` with the key. False: the call fails instead, at once if the region
                is known to be down.

        Raises:
            UnknownCounter: no region has the counter.
            Refused: the request isn't allowed, or the key was used for another request.
            Unavailable: all regions failed, or the key's region did.
            ValueError: the key is not 1 to 255 visible ASCII characters, or `key_failover` is given without one.
        """
        if key is None and not key_failover:
            integers, begins, ends, mark = self._buffer.lease
            if begins <= time() < ends:
                for integer in integers:
                    if mark[0]:  # else this is a forked child, and its parent has this integer
                        return integer
                    break
            share = self._buffer.shares.get(get_ident())
            return (share and first_of(share, time())) or run(self._next())
        return self.take(1, key=key, key_failover=key_failover)[0]

    def take(self, count: int, *, key: str | None = None, key_failover: bool = False) -> list[int]:
        """Return `count` integers, in as few requests as possible.

        Each request's integers are one stride apart. If a request fails, the integers of those before it are
        lost.

        Args:
            count: 0 or more; with a key, 1 to 100,000.
            key: as with `next`.
            key_failover: as with `next`.

        Raises:
            UnknownCounter, Refused, Unavailable, ValueError: as with `next`.
        """
        return run(self._taken(count, key, key_failover))

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return self.next()


class Integers(Counter, AnyIntegers[Counter, "httpx.Client"]):
    """Unique integers from the nearest healthy region. The object is itself the default counter.

    Use one object for a whole process: all threads may share it, and it is safe to use after a fork. A region that
    fails is left alone for a while, and the next nearest one is asked, within the call's deadline.

    The key decides which region a request with a key goes to, in the same way in every process: only that region can
    return the integer again. So the request doesn't fail over, unless `key_failover` accepts another integer.
    """

    _counter = Counter
    _io = Threads

    def __init__(self, urls: Mapping[str, str] | str, **options: "Unpack[ClientSettings[httpx.Client]]") -> None:
        """Prepare. No region is asked yet; botocore may look for credentials, also over the network.

        Args:
            urls: each region's URL by the region's AWS name (stack output `urls`); or the domain's URL, such as
                https://integers.example.com/ (stack output `domainUrl`), which the first call asks for its regions.
            options: those of `ClientSettings`, by keyword.

        Raises:
            TypeError: there is no such option.
            ValueError: one of these is wrong.
            CannotSign: `sign` is True, and botocore or the credentials are missing, or awscrt for a domain; or
                botocore fails while it looks for credentials. Without `sign`, the first call may raise it.
        """
        super().__init__(urls, **options)

    @classmethod
    def from_env(cls, **options: "Unpack[ClientSettings[httpx.Client]]") -> "Self":
        """Return a client for the URLs in the environment variable `GLOBAL_INTEGERS_URLS`.

        The variable has the domain's URL, URLs by region as JSON, a stack's outputs as JSON, or the path of a file
        with such JSON. The lines of `python -m local outputs urls` are also accepted. The options are those of
        the class.

        Raises:
            ValueError: the variable isn't set, or is wrong.
        """
        return cls(urls_from_environment(), **options)

    def create(self, counter: str, *, timeout: float = 60.0) -> bool:
        """Create a counter in every region, within `timeout` seconds. Return whether it is new.

        Raises:
            Refused: the stack doesn't allow it (`openCounters`).
            Unavailable: all regions failed.
            ValueError: no counter can have this name.
        """
        return run(self.client.create(counter, timeout))

    def owner(self, integer: int, counter: str | None = None) -> Owner:
        """Return the region that mints an integer of a counter, by default of this object's counter.

        Raises:
            UnknownOwner: no region knows the owner (yet), or the counter.
            Refused: the request isn't allowed.
            Unavailable: all regions failed. If only the owner does, `minted` is None.
            ValueError: no counter can have this name, or the integer is not within 1 to 2^53 − 1.
        """
        return run(self.client.owner(integer, counter))

    def health(self) -> dict[str, Health]:
        """Return whether each region can mint now. All are asked at the same time, for at most `timeout` seconds.

        If the client has a domain, and its regions must be read first, that takes up to `timeout` seconds more.

        In a signal handler in the middle of a call, they are asked one after the other, none after `timeout` seconds.

        Raises:
            Unavailable, Refused: the client has a domain, and the domain doesn't name its regions.
        """
        return run(self.client.with_state(State.health))

    def close(self) -> None:
        """Close all connections. What is leased is dropped, which leaves a gap.

        Calls that other threads are in go on, with new connections. The client may be used again.
        """
        run(self.client.close())

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
