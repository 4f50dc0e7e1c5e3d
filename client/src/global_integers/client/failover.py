"""Decides which region is asked next, for how long, and when to give up. No I/O."""

import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from ..errors import DeadlineExceeded, Refused, Unavailable
from ..events import FailedOver
from .api import ApiRequest, Failure, FailureKind
from .regions import Regions

SHORTEST_WAIT = 0.05
LONGEST_WAIT = 1.0
"""Seconds between two rounds over all regions: the first wait, which doubles, and the longest. Both are jittered."""

T = TypeVar("T")
log = logging.getLogger("global_integers")


def order_of(key: str, regions: Iterable[str]) -> list[str]:
    """Return the regions in a key's order, the same in every process (rendezvous hashing, "highest random weight").

    The region with the largest SHA-256 of `<region> LF <key>` comes first. If a region is added or removed, only
    those keys change their region that move to it or away from it.
    """
    return sorted(regions, key=lambda region: sha256(f"{region}\n{key}".encode()).digest(), reverse=True)


class Failover:
    """Asks one region after the other."""

    def __init__(
        self,
        regions: Regions,
        send: Callable[[str, ApiRequest[Any], float], Awaitable[Any]],
        sleep: Callable[[float], Awaitable[None]],
        tell: Callable[[FailedOver], None],
    ) -> None:
        """Prepare.

        Args:
            regions: told which ones failed. Its clock is used.
            send: sends a request to a region, within so many seconds. Returns the answer, or a `Failure`.
            sleep: waits for so many seconds.
            tell: called when another region is asked after one has failed.
        """
        self._regions = regions
        self._send = send
        self._sleep = sleep
        self._tell = tell

    async def answer(
        self, request: ApiRequest[T], deadline: float, order: Sequence[str] | None, each: float, timeout: float
    ) -> T:
        """Ask one region after the other, round after round, until one answers or there is no time left.

        If a region has fewer integers left than requested, it is asked for as many as it has, unless there is a key.

        Args:
            request: the request.
            deadline: when to give up, by the regions' clock.
            order: the regions to ask, by default all: in each round, in the order that is best then.
            each: seconds for one attempt.
            timeout: seconds of the whole call, of which this may be the rest; for the message.

        Raises:
            Refused: the request is wrong, or nobody allows it.
            UnknownCounter, UnknownOwner: every region that responded says 404, or that it wasn't granted the integer.
            Unavailable: every region failed, or all that responded have left the layout.
            DeadlineExceeded: the time was over before every region could be asked.
        """
        regions = self._regions
        failures: dict[str, Failure] = {}
        last: str | None = None
        wait = SHORTEST_WAIT
        while True:
            asked = regions.order() if order is None else order
            for region in asked:
                if last is not None and last != region:
                    self._tell(FailedOver(last, region, failures[last].reason))
                began = regions.now()
                if began >= deadline:
                    raise _out_of_time(request, failures, regions, len(asked), timeout)
                answer = await self._send(region, request, min(each, deadline - began))
                if isinstance(answer, Failure) and 0 < answer.available < request.count and not request.keyed:
                    began = regions.now()
                    fewer = request.with_count(answer.available)
                    answer = await self._send(region, fewer, min(each, max(deadline - began, 0.01)))
                if not isinstance(answer, Failure):
                    if regions.answered(region):
                        log.info("%s answers again", region)
                    return answer
                if answer.kind is FailureKind.WRONG:
                    raise Refused(region, answer.status, answer.reason, answer.problem)
                if request.count or answer.kind is not FailureKind.ABSENT:  # else it did what it should
                    regions.failed(region, began, answer)
                if region not in failures or deadline - began >= each:  # an attempt with too little time says less
                    failures[region] = answer
                last = region
            _raise_if_no_retry_helps(request, failures)
            pause = max(_jittered(wait), min(failure.retry_after for failure in failures.values()))
            if regions.now() + pause >= deadline:
                raise _out_of_time(request, failures, regions, len(failures), timeout)
            await self._sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)


def _jittered(seconds: float) -> float:
    return random.uniform(seconds / 2, seconds)  # noqa: S311 (not for security)


def _raise_if_no_retry_helps(request: ApiRequest[Any], failures: Mapping[str, Failure]) -> None:
    kinds = {failure.kind for failure in failures.values()} - {FailureKind.SILENT}
    if not kinds or FailureKind.TRANSIENT in kinds:
        return
    reasons, hints = _reasons(failures), _hints(failures)
    if FailureKind.REFUSED in kinds:
        region, failure = next((name, found) for name, found in failures.items() if found.kind is FailureKind.REFUSED)
        raise Refused(region, failure.status, failure.reason, failure.problem, failure.hint)
    if FailureKind.ABSENT in kinds:
        who = "no region knows" if len(reasons) > 1 else "its region doesn't know" if request.keyed else "nobody knows"
        raise request.nowhere(f"{who} {request.subject}{request.nowhere.hint}:", reasons, hints)
    raise Unavailable(
        f"{request.subject}: no URL that responded leads to a region of the layout{_advice(request, failures)}:",
        reasons,
        hints,
    )


def _out_of_time(
    request: ApiRequest[Any], failures: Mapping[str, Failure], regions: Regions, asked: int, timeout: float
) -> Unavailable:
    reasons, hints = _reasons(failures), _hints(failures)
    if len(failures) < asked:
        return DeadlineExceeded(
            f"{request.subject}: {timeout:.3g} s passed before every region could be asked:",
            {**regions.reasons(), **reasons},
            hints,
        )
    message = f"{request.subject}: no region succeeded within {timeout:.3g} s{_advice(request, failures)}:"
    if all(failure.kind is FailureKind.SILENT for failure in failures.values()):  # mostly, a name or a port is wrong
        message = "{}: {}; {}".format(*next(iter(reasons.items())), message)
    return Unavailable(message, reasons, hints)


def _advice(request: ApiRequest[Any], failures: Mapping[str, Failure]) -> str:
    if not request.keyed or len(failures) > 1:
        return ""
    return "; only the key's region can return its integer again (key_failover=True accepts another integer)"


def _reasons(failures: Mapping[str, Failure]) -> dict[str, str]:
    return {region: failure.reason for region, failure in failures.items()}


def _hints(failures: Mapping[str, Failure]) -> list[str]:
    return [failure.hint for failure in failures.values()]
