"""Why a request can't be served: no integer is handed out. `api/problems.py` makes responses of these errors."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .table import CounterItem


class RequestError(Exception):
    """A request can't be served. No integer is handed out."""


class NoItem(RequestError):
    """The table has no item of this counter. Minting never creates one, so that a lost table is an error."""


class CeilingReached(RequestError):
    """Too few integers are left up to the ceiling of this `item`. If it is fenced, waiting may help."""

    def __init__(self, item: "CounterItem") -> None:
        super().__init__("fenced" if item.fenced else "the ceiling is reached")
        self.item = item


class TableUnavailable(RequestError):
    """The table did not respond, is throttled or doesn't exist."""


class Unusable(RequestError):
    """The counter's item isn't one that the coordinator has written: a number is missing, or isn't one."""


class WentBackwards(RequestError):
    """The table was restored to an earlier state. Nothing of this counter is minted until a newer epoch begins."""


class OtherRequest(RequestError):
    """The Idempotency-Key was used before for another count."""


class Forbidden(RequestError):
    """The caller may not do this. The message is for the caller."""


class WrongName(RequestError):
    """No counter can get this name. The message is for the caller."""


class OwnerUnknown(RequestError):
    """No region is known to mint this integer. The message is for the caller."""


class LayoutUnknown(RequestError):
    """A layout that this region doesn't know yet is in force, or may soon be.

    `item` is set if the requested integer lies above what this region's item covers. It is None if a new layout is just
    reaching the region.
    """

    def __init__(self, item: "CounterItem | None" = None) -> None:
        super().__init__("a layout isn't known here yet")
        self.item = item


class CoordinatorFailed(RequestError):
    """The coordinator didn't create a counter. The message is for the caller.

    `retry` is whether the caller should try again: soon, later, or never.
    """

    def __init__(self, message: str, retry: Literal["soon", "later", "never"] = "never") -> None:
        super().__init__(message)
        self.retry = retry
