"""The part of a counter that is the same for threads and for asyncio tasks. No I/O."""

from time import time
from typing import NoReturn

from . import calls
from .answers import Block
from .calls import Call
from .errors import DeadlineExceeded
from .options import Options
from .rendezvous import order_of
from .stock import Stock


class AnyCounter:
    """A counter's name, and its stock of leased integers."""

    def __init__(self, name: str, options: Options) -> None:
        """Use the counter `name`, "" for the default one."""
        self.name = name
        self._options = options
        self.forget()

    def forget(self) -> None:
        """Start anew. For a forked process: its parent has the same leases."""
        self._stock = Stock(self._options.lease, self._options.lease_seconds, time)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: a copy would hand out the same integers."""
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled; share it, or make one in each process")

    def __contains__(self, item: object) -> NoReturn:
        """Refuse, since an iterator would be minted from until it has the item."""
        raise TypeError(
            f"{item!r} can't be looked for by minting: integers[{str(item)!r}] is the counter of this name, and "
            "integers.owner(n) says who mints n"
        )

    def _keyed(self, count: int, key: str) -> tuple[Call[Block], list[str]]:
        """Return the request with a key, and the regions that may answer it, in order."""
        order = order_of(key, self._options.urls)[: None if self._options.key_failover else 1]
        return calls.mint(self.name, count, key), order

    def _no_block(self) -> DeadlineExceeded:
        name = self.name or "the default counter"
        return DeadlineExceeded(f"{name}: no block was fetched within {self._options.timeout:.3g} s", {})
