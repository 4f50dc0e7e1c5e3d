"""What minting returns, and why it can't: `api/problems.py` makes responses of these errors."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple


class Block(NamedTuple):
    """`count` integers from `first` on, `stride` apart."""

    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]

    def integers(self) -> range:
        """Return the integers, the smallest first, without making a list of them."""
        return range(self.first, self.first + self.count * self.stride, self.stride)


class CounterItem(NamedTuple):
    """A counter's item: its numbers, and all its attributes as DynamoDB has them."""

    issued: int
    stride: int
    ceiling: int
    epoch: int
    fenced: bool
    attributes: Mapping[str, Any]
    low: int = 0
    """Once more than this is issued, it is time to ask for more; 0: unknown."""


Reason = Literal["forbidden", "wrong name", "no owner", "other request", "failed", "retry", "retry later"]


class RequestError(Exception):
    """A request can't be served. No integer is handed out."""


class NoItem(RequestError):
    """The table has no item of this counter. Minting never creates one, so that a lost table is an error."""


class TableEmpty(NoItem):
    """The table has no counter yet: it was lost, or is new. The coordinator will put its items there."""


class CeilingReached(RequestError):
    """Too few integers are left up to the ceiling of this `item`. If it is fenced, waiting may help.

    `asked` says whether the home region has been asked for more, by this request or by another one just before.
    """

    def __init__(self, item: CounterItem) -> None:
        super().__init__("fenced" if item.fenced else "the ceiling is reached")
        self.item = item
        self.asked = False


class BlockTooLarge(RequestError):
    """A block of more than `most` integers, which no request may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a request mints up to {most} integers here")
        self.most = most


class TableUnavailable(RequestError):
    """The counter's layout changed with every attempt to mint a block."""


class Unusable(RequestError):
    """The counter's item isn't one that the coordinator has written: a number is missing, or isn't one."""


class WentBackwards(RequestError):
    """The table was restored to an earlier state. Nothing of the counter is minted until a later epoch begins."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"the table went back in epoch {epoch}")
        self.epoch = epoch


class RequestRefused(RequestError):
    """The caller can't have this, for a `reason` that decides the status. The message is for the caller."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class LayoutUnknown(RequestError):
    """A layout that this region doesn't know yet is in force, or may soon be.

    `item` is set if the requested integer lies above what this region's item covers. It is None if a new layout is just
    reaching the region.
    """

    def __init__(self, item: CounterItem | None = None) -> None:
        super().__init__("a layout isn't known here yet")
        self.item = item
