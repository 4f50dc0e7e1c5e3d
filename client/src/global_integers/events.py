"""The events that a client passes to its observer, for metrics.

The observer is called in the thread or task that sends the request.
"""

from collections.abc import Callable
from typing import NamedTuple


class Requested(NamedTuple):
    """One request was sent.

    `subject` is "health", "the default counter", "counter 'orders'" or the like. `failure` says why there is no answer,
    and is None if there is one.
    """

    region: str
    subject: str
    seconds: float
    failure: str | None


class FailedOver(NamedTuple):
    """A region failed, and another one, `following`, is asked next."""

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
