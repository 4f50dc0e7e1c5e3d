"""What a client tells its observer: for metrics. The observer is called by whichever thread or task it happens in."""

from collections.abc import Callable
from typing import NamedTuple


class Requested(NamedTuple):
    """One request was sent. `failure` says why there is no answer, None if there is one."""

    region: str
    subject: str
    seconds: float
    failure: str | None


class FailedOver(NamedTuple):
    """A region failed, and the next one is asked."""

    failed: str
    following: str
    reason: str


class Leased(NamedTuple):
    """A block was fetched for a counter, "" for the default one."""

    counter: str
    region: str
    size: int


Event = Requested | FailedOver | Leased
Observer = Callable[[Event], None]
