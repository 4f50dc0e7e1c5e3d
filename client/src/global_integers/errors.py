"""The errors that callers see, each one a `GlobalIntegersError`, and the events that an observer sees."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class GlobalIntegersError(Exception):
    """The call failed. An integer may have been minted and lost: that leaves a gap, never a duplicate."""


class Refused(GlobalIntegersError):
    """The request is wrong or isn't allowed. A retry doesn't help.

    Attributes:
        region: the region that refused.
        status: the response's HTTP status, 400 to 499.
        problem: the problem document (RFC 9457), or an empty mapping if the response had none.
        hints: what may help.
    """

    def __init__(self, region: str, status: int, reason: str, problem: Mapping[str, Any], hint: str = "") -> None:
        self.hints = [hint] if hint else []
        super().__init__("\n".join([f"{region} refuses the request: {reason}", *self.hints]))
        self.region = region
        self.status = status
        self.problem = dict(problem)


class FailedEverywhere(GlobalIntegersError):
    """No region answered the request.

    Attributes:
        reasons: why each region that was asked didn't, in the order of the attempts.
        hints: what may help.
    """

    hint = ""
    """What may help, at the end of the message."""

    def __init__(self, message: str, reasons: Mapping[str, str], hints: Iterable[str] = ()) -> None:
        self.reasons = dict(reasons)
        self.hints = list(dict.fromkeys(filter(None, hints)))
        found = [f"{region}: {reason}" for region, reason in reasons.items()]
        said = (" " if len(found) < 2 else "\n  ").join([message, *found])
        super().__init__("\n".join([said, *self.hints]))


class UnknownCounter(FailedEverywhere):
    """Every region that responded says that there is no such counter."""

    hint = ". A counter is created by the stack's setting `counters`, or, with `openCounters`, by `create`"


class UnknownOwner(FailedEverywhere):
    """Every region that responded says that it knows no owner of this integer (yet), or no such counter."""

    hint = (
        ": there is no such counter, or the integer is older than what is known, or no region has been granted it yet"
    )


class Unavailable(FailedEverywhere):
    """Every region failed, or the one region of the key did."""


class DeadlineExceeded(Unavailable):
    """The time was over before every region could be asked."""


class Requested(NamedTuple):
    """One request was sent: about "health", "counter 'orders'" or the like. `failure` says why there is no answer."""

    region: str
    subject: str
    seconds: float
    failure: str | None


class FailedOver(NamedTuple):
    """A region failed, and another one, `following`, is asked next.

    `key` is the call's idempotency key, "" if it has none. With one (`key_failover=True`), both regions may have minted
    an integer for it. Then the caller has that of the region that answers.
    """

    failed: str
    following: str
    reason: str
    key: str = ""


class Leased(NamedTuple):
    """A block was fetched for a counter, "" for the default one."""

    counter: str
    region: str
    size: int


Event = Requested | FailedOver | Leased
Observer = Callable[[Event], None]
"""It is called in the thread or task that sends the request."""
