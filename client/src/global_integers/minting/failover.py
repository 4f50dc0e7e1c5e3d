"""Decides which region is asked next, for how long, when to give up, and which regions to leave alone for a while.

A region that fails is left alone for a pause, which doubles with every failure and is jittered, so that clients don't
come back all at once. A region that didn't respond at all is left alone until it responds to a health check, so
callers wait for a region that hangs only once, or as a last resort. A key has one region: a call with it fails at once
if that is known to be down, which is so at most until the region's pause is over. Health checks run in the background.
"""

import logging
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from typing import Any, NamedTuple, TypeVar

from ..errors import DeadlineExceeded, FailedOver, Refused, Unavailable
from .api import MAX_BLOCK, ApiRequest, Failure, FailureKind
from .forks import make_lock
from .lease_buffer import Signal
from .options import Deadline

REFRESH = 60.0
"""Seconds after which a region's latency is measured again, if there are requests."""

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0
"""Seconds for which a region is left alone after its first failure, and at most."""

CLEARLY_NEARER = 0.8
"""The nearest region is replaced only by one with less than this share of its latency, so callers don't alternate."""

ABOUT_THE_REQUEST = (FailureKind.ABSENT, FailureKind.REFUSED)
"""Failures that say nothing of the region for other requests: there is no such counter, or nobody may create one."""

WARNED = 60.0
"""Seconds after a warning of a region in which it gets no other one: an overload comes and goes."""

WEIGHT = 0.3
"""The weight of a new latency in the moving average."""

REMEMBERED = 600.0
"""Seconds for which it is remembered how many integers a request may ask for."""

SHORTEST_WAIT = 0.05
LONGEST_WAIT = 1.0
"""Seconds between two rounds over all regions: the first wait, which doubles, and the longest. Both are jittered."""

ADVICE = "; only the key's region can return its integer again (key_failover=True accepts another integer)"
"""What a message says of a key whose region fails."""

NOT_ASKED = "not asked by this call; before: "
"""What a message says of a region that only earlier calls or health checks have asked."""

T = TypeVar("T")
log = logging.getLogger("global_integers")


def order_of(key: str, regions: Iterable[str]) -> list[str]:
    """Return the regions in a key's order, the same in every process (rendezvous hashing, "highest random weight").

    The region with the largest SHA-256 of `<region> LF <key>` comes first. If a region is added or removed, only
    those keys move that it gets or loses.
    """
    return sorted(regions, key=lambda region: sha256(f"{region}\n{key}".encode()).digest(), reverse=True)


class Health(NamedTuple):
    """Whether a region can mint from its default counter now; the check's seconds, None if there was no response."""

    ok: bool
    seconds: float | None
    reason: str = ""


@dataclass
class RegionState:
    """What is known of one region.

    Attributes:
        latency: seconds of a health check, as a moving average; infinite: not measured.
        failures: how often it has failed since it last answered a call, up to 30.
        until: the time until which it is left alone, by the clock.
        silent: how often in a row it didn't respond.
        failing: since when calls have failed, though it responded, with at most the longest pause in between; infinite:
            the last call didn't fail.
        failed: when its last failure was noted.
        checked: when its last health check began.
        warned: when a warning of it was logged last.
        announced: whether that was since it last answered a call.
        reason: why it failed last.
    """

    latency: float = inf
    failures: int = 0
    until: float = 0.0
    silent: int = 0
    failing: float = inf
    failed: float = -inf
    checked: float = -inf
    checking: bool = False
    warned: float = -inf
    announced: bool = False
    reason: str = ""


class Regions:
    """All configured regions. Its methods may be called from several threads."""

    def __init__(
        self,
        names: Iterable[str],
        prefer: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """Know nothing of any region yet."""
        self.names = list(names)
        """Those of a domain are unknown before the first call."""
        self._last: list[str] = []
        self._states: defaultdict[str, RegionState] = defaultdict(RegionState)
        self._prefer = prefer
        self._nearest: str | None = None
        self.clock = clock
        self.spread = spread
        self._lock = make_lock()
        self._measured = len(self.names) == 1 or prefer is not None
        """Whether calls no longer wait for the first health check."""
        self.outdated = False
        """Whether a region has left, or a call failed: there may be other regions now."""
        self.read_at = -inf
        """When those of a domain were read, by `time.monotonic`."""
        self._max_block, self._max_until = MAX_BLOCK, 0.0
        self._waiting: list[Signal] = []

    def copied(self) -> "Regions":
        """Return what is known for another process or event loop, where nobody waits or checks yet."""
        made = copy(self)
        made._lock, made._waiting = make_lock(), []
        states = [(name, replace(state)) for name, state in list(self._states.items())]
        made._states = defaultdict(RegionState, states)
        made.uncheck()
        return made

    def replace(self, names: Iterable[str], last: str) -> None:
        """Use other regions. What is known of those that stay is kept.

        `last` is asked after all of them. It is never measured, since it leads to one of them.
        """
        with self._lock:
            self.names, self._last, self.outdated = list(names), [last], False
            if self._nearest not in self.names:
                self._nearest = None
            if len(self.names) == 1:
                self.wait_no_longer()

    @property
    def max_block(self) -> int:
        """The most integers of one request, as far as a region has lately said so."""
        return self._max_block if self.clock() < self._max_until else MAX_BLOCK

    def learn(self, max_block: int) -> None:
        """Remember for a while how many integers a request may ask for: the setting may be changed."""
        self._max_block, self._max_until = max_block, self.clock() + REMEMBERED

    def order(self) -> list[str]:
        """Return all regions: the healthy ones, the nearest first; then those that are left alone, as a last resort."""
        with self._lock:
            now = self.clock()
            healthy = [name for name in self.names if self._is_healthy(self._states[name], now)]
            healthy.sort(key=lambda name: self._states[name].latency)
            first = self._choose(healthy)
            healthy.sort(key=lambda name: name != first)
            unhealthy = sorted(set(self.names) - set(healthy), key=lambda name: (self._states[name].until, name))
            return healthy + unhealthy + self._last

    def known(self, name: str) -> str:
        """Return in words what is known of a region. It takes no lock, so it may be called at any time."""
        state = self._states.get(name, RegionState())
        latency = "not measured" if state.latency == inf else f"{state.latency * 1000:.0f} ms"
        return latency if self._is_healthy(state, self.clock()) else f"{latency}, left alone"

    def reasons(self) -> dict[str, str]:
        """Return why each region that is left alone, or was, has failed last."""
        with self._lock:
            return {name: self._states[name].reason for name in self.names if self._states[name].failures}

    def answered(self, name: str) -> bool:
        """Note that a region answered a call. Return whether a warning has said that it failed."""
        with self._lock:
            state = self._states[name]
            back, state.announced = state.announced, False
            state.failures, state.until, state.silent, state.failing = 0, 0.0, 0, inf
            return back

    def failed(self, name: str, began: float, failure: Failure) -> None:
        """Leave a region alone for a while. Calls that fail at the same time count as one failure.

        `began` is when the failed attempt began, by `clock`.
        """
        with self._lock:
            if failure.kind in (FailureKind.GONE, FailureKind.FORBIDDEN):
                self.outdated = True
            state = self._states[name]
            noted = began >= state.failed
            if failure.kind is FailureKind.TRANSIENT:
                state.failing = began if began > state.failed + LONGEST_PAUSE else min(state.failing, began)
            level = self._leave_alone(name, failure) if noted else logging.NOTSET
        _log(level, name, failure)

    def down(self, name: str, seconds: float) -> str:
        """Return why a region is known to be down; "": it may answer.

        It is down if it didn't respond twice in a row, or calls have failed for more than half of the seconds that one
        may take; but only until its pause is over. Then calls ask it again, and don't wait for a health check.
        """
        with self._lock:
            state = self._states[name]
            down = state.silent > 1 or state.failed - state.failing > seconds / 2
            return state.reason if down and self.clock() < state.until else ""

    def to_check(self, *, silent: bool = False) -> list[str]:
        """Return the regions whose health must be checked now. Call `checked` for each of them afterwards.

        With `silent`, only those are checked that didn't respond, for calls that can't choose a region.
        """
        with self._lock:
            now = self.clock()
            choice = len(self.names) > 1 and not silent  # with one region, there is nothing to choose
            due = [
                name
                for name in self.names
                if (choice or (silent and self._states[name].silent)) and self._is_due(self._states[name], now)
            ]
            for name in due:
                self._states[name].checked, self._states[name].checking = now, True
            return due

    def checked(self, name: str, answer: object, seconds: float) -> Health:
        """Note the answer to a health check, which took so many seconds. Return what it means."""
        failure = answer if isinstance(answer, Failure) else None
        silent = failure is not None and failure.kind is FailureKind.SILENT
        level = logging.NOTSET
        with self._lock:
            state = self._states[name]
            state.checking = False
            if not silent:
                state.silent = 0
                before = seconds if state.latency == inf else state.latency
                state.latency = (1 - WEIGHT) * before + WEIGHT * seconds
            if failure is None:
                state.until, state.failing = 0.0, inf
            else:  # health is of the default counter only: no longer pause for all counters, and 404 is a failure too
                kind = FailureKind.SILENT if silent else FailureKind.TRANSIENT
                level = self._leave_alone(name, failure._replace(kind=kind, retry_after=0.0))
            if failure is None or all(self._states[name].failures for name in self.names):
                self.wait_no_longer()
        if failure is not None:
            _log(level, name, failure)
        return Health(failure is None, None if silent else seconds, "" if failure is None else failure.reason)

    def uncheck(self, *names: str) -> None:
        """Note that health checks, by default all that are under way, were given up. They are due again."""
        with self._lock:
            for state in [self._states[name] for name in names or self.names]:
                if state.checking:
                    state.checking, state.checked = False, -inf

    def wait_for_first(self, make_signal: Callable[[], Signal]) -> Signal | None:
        """Return the signal that is given once a region is healthy or all failed; None: don't wait."""
        if self._measured:  # as with nearly every call
            return None
        with self._lock:
            signal = make_signal()
            self._waiting.append(signal)
            if self._measured:
                self.wait_no_longer()
            return signal

    def wait_no_longer(self) -> None:
        """Let all calls go on, and later ones not wait."""
        with self._lock:
            self._measured = True
            while self._waiting:
                self._waiting.pop().wake()

    def _leave_alone(self, name: str, failure: Failure) -> int:
        """Note the failure. Return the level at which it is logged, once the lock is free: logging has locks, too."""
        state = self._states[name]
        now = self.clock()
        # A warning once, until it answers a call again.
        known = state.announced or failure.kind is FailureKind.ABSENT or now < state.warned + WARNED
        if not known:
            state.warned, state.announced = now, True
        pause = min(FIRST_PAUSE * 2.0**state.failures, LONGEST_PAUSE)
        state.failures = min(state.failures + 1, 30)
        state.until = now + max(self.spread(pause / 2, pause), failure.retry_after)
        state.silent = state.silent + 1 if failure.kind is FailureKind.SILENT else 0
        state.failed, state.reason = now, failure.reason
        return logging.DEBUG if known else logging.WARNING

    def _choose(self, healthy: list[str]) -> str | None:
        """Return the region to ask first. The nearest one stays so while it is unhealthy, and callers go back to it."""
        if self._prefer in healthy:
            return self._prefer
        if not healthy:
            return None
        first, nearest = healthy[0], self._nearest
        if nearest is not None and nearest not in healthy:
            return first
        if nearest is None or self._states[first].latency < CLEARLY_NEARER * self._states[nearest].latency:
            self._nearest = first
        return self._nearest

    def _is_healthy(self, state: RegionState, now: float) -> bool:
        return not state.silent and now >= state.until

    def _is_due(self, state: RegionState, now: float) -> bool:
        return not state.checking and now >= (state.until if state.silent else state.checked + REFRESH)


def _log(level: int, name: str, failure: Failure) -> None:
    if level != logging.NOTSET:
        log.log(level, "%s failed and is left alone for a while: %s", name, failure.reason)


@dataclass(frozen=True)
class Failover:
    """Asks one region after the other."""

    regions: Regions
    send: Callable[[str, ApiRequest[Any], float], Awaitable[Any]]
    """Sends a request to a region, within so many seconds. Returns the answer or a `Failure`."""
    sleep: Callable[[float], Awaitable[None]]
    tell: Callable[[FailedOver], None]
    """Is told that another region is asked after one has failed."""

    def order(self, request: ApiRequest[Any], deadline: Deadline, *, key_failover: bool) -> list[str]:
        """Return which regions are asked for a key: the first of its order or, with `key_failover`, all.

        Those that are known to be down come last.

        Raises:
            Unavailable: the key's region is known to be down.
        """
        order = order_of(request.key, self.regions.names)
        down = {name: reason for name in order if (reason := self.regions.down(name, deadline.timeout))}
        first = order[0]
        if not key_failover and first in down:
            raise Unavailable(f"{request.subject}: the key's region is known to be down{ADVICE}:", {first: down[first]})
        order.sort(key=down.__contains__)
        if key_failover and order[0] != first:
            self.tell(FailedOver(first, order[0], down[first], request.key))
        return order if key_failover else [first]

    async def answer(self, request: ApiRequest[T], deadline: Deadline, order: Sequence[str] | None = None) -> T:
        """Ask one region after the other, round after round, until one answers or there is no time left.

        If a region has fewer integers left than requested, it is asked for as many as it has, unless there is a key.

        By default, all regions are asked: in each round, in the order that is best then.

        Raises:
            Refused: the request is wrong, a region doesn't allow it, or AWS forbids it everywhere.
            UnknownCounter, UnknownOwner: every region that responded says 404, or that it wasn't granted the integer.
            Unavailable: every region failed, or all have left the layout, or AWS forbids them.
            DeadlineExceeded: the time was over before every region could be asked.
        """
        regions = self.regions
        failures: dict[str, Failure] = {}
        last: str | None = None
        wait = SHORTEST_WAIT
        while True:
            asked = regions.order() if order is None else order
            for region in asked:
                if last is not None and last != region:
                    self.tell(FailedOver(last, region, failures[last].reason, request.key))
                began = regions.clock()
                if began >= deadline.ends:
                    raise _out_of_time(request, failures, regions, len(asked), deadline.timeout)
                answer = await self.send(region, request, min(deadline.attempt, deadline.ends - began))
                if isinstance(answer, Failure) and answer.max_block:
                    regions.learn(answer.max_block)
                if isinstance(answer, Failure) and 0 < answer.available < request.count and not request.key:
                    began = regions.clock()
                    fewer = replace(request, count=answer.available)
                    left = max(deadline.ends - began, 0.01)
                    answer = await self.send(region, fewer, min(deadline.attempt, left))
                if not isinstance(answer, Failure):
                    if regions.answered(region):
                        log.info("%s answers again", region)
                    return answer
                if answer.kind is FailureKind.WRONG:
                    raise Refused(region, answer.status, answer.reason, answer.problem)
                if answer.kind not in ABOUT_THE_REQUEST:
                    regions.failed(region, began, answer)
                if region not in failures or deadline.ends - began >= deadline.attempt:
                    failures[region] = answer  # an attempt with too little time says less
                last = region
            _raise_if_no_retry_helps(request, failures)
            jittered = random.uniform(wait / 2, wait)  # noqa: S311 (not for security)
            pause = max(jittered, min(failure.retry_after for failure in failures.values()))
            if regions.clock() + pause >= deadline.ends:
                raise _out_of_time(request, failures, regions, len(failures), deadline.timeout)
            await self.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)


def _raise_if_no_retry_helps(request: ApiRequest[Any], failures: Mapping[str, Failure]) -> None:
    kinds = {failure.kind for failure in failures.values()}
    if FailureKind.TRANSIENT in kinds:
        return
    reasons = {region: failure.reason for region, failure in failures.items()}
    hints = [failure.hint for failure in failures.values()]
    final = FailureKind.FORBIDDEN if kinds == {FailureKind.FORBIDDEN} else FailureKind.REFUSED
    if final in kinds:
        region, failure = next((name, found) for name, found in failures.items() if found.kind is final)
        raise Refused(region, failure.status, failure.reason, failure.problem, failure.hint)
    if FailureKind.ABSENT in kinds:
        who = "no region knows" if len(reasons) > 1 else "its region doesn't know" if request.key else "nobody knows"
        raise request.nowhere(f"{who} {request.subject}{request.nowhere.hint}:", reasons, hints)
    if FailureKind.SILENT in kinds:  # it may be in the layout
        return
    allowed = " that AWS lets the caller use" if FailureKind.FORBIDDEN in kinds else ""
    found = f"no URL leads to a region of the layout{allowed} (give the client the stack's present urls)"
    message = f"{request.subject}: {found}{_advice(request, failures)}:"
    raise Unavailable(message, reasons, hints)


def _out_of_time(
    request: ApiRequest[Any], failures: Mapping[str, Failure], regions: Regions, asked: int, timeout: float
) -> Unavailable:
    reasons = {region: failure.reason for region, failure in failures.items()}
    hints = [failure.hint for failure in failures.values()]
    if len(failures) < asked:
        reasons |= {name: f"{NOT_ASKED}{why}" for name, why in regions.reasons().items() if name not in reasons}
        message = f"{request.subject}: {timeout:.3g} s passed before every region could be asked"
        return DeadlineExceeded(message + ":" * bool(reasons), reasons, hints)
    message = f"{request.subject}: no region succeeded within {timeout:.3g} s{_advice(request, failures)}:"
    silent = all(failure.kind is FailureKind.SILENT for failure in failures.values())
    if silent and len(failures) > 1:  # mostly, a name or a port is wrong
        message = "{}: {}; {}".format(*next(iter(reasons.items())), message)
    return Unavailable(message, reasons, hints)


def _advice(request: ApiRequest[Any], failures: Mapping[str, Failure]) -> str:
    return ADVICE if request.key and len(failures) < 2 else ""
