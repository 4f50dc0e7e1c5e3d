"""Calls DynamoDB in every region, retries transient errors, and says what is unreachable (see `meaning.py`)."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from aws_client.connection import NoResponse
from aws_client.meaning import Meaning
from aws_client.service import DynamoDB, ServiceError

from ..log import warn
from ..protocol.model import Absent, Refused

RETRY_SECONDS = 60
"""Seconds for which transient errors of the home region are retried. AWS needs some time to make a new role known."""

REGION_SECONDS = 15
"""Seconds for which another region's throttled item, or a role that isn't accepted yet, is tried again. The schedule
comes back to it."""

FIRST_SECONDS = 240
"""The same where every region is needed: at the first deployment, when roles are new, and when a loss is answered."""

ATTEMPTS = 3
"""Attempts, those of a call itself included, after which a region other than home counts as unreachable."""

TOGETHER = 3
"""How many calls of a region are given up, with none that succeeds in between, before all of it counts as throttled."""

MOST_THROTTLED = 20
"""How many items of a region are given up before all of it counts as throttled: each of them costs `REGION_SECONDS`."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds. The pause doubles with each attempt, and the actual one is a random part of it (full jitter)."""

LONGEST_CONFLICT = 0.2
"""The same after a conflict: other writes of the same item take milliseconds, and regions may be fenced meanwhile."""


def held(write: Callable[[], object]) -> bool:
    """Carry out a conditional write, and return whether its condition held.

    A conflict with another write says nothing about the condition. It is an error, and whoever calls tries again.
    """
    try:
        write()
    except ServiceError as error:
        if error.meaning == "condition":
            return False
        raise
    return True


def retried(home: str, call: Callable[[], Any], seconds: float | None = None) -> Any:
    """Return what a call to the home region returns. Transient errors are retried, all others `Refused`.

    They are for so many seconds, by default `RETRY_SECONDS`.
    """
    patience = _Patience(RETRY_SECONDS if seconds is None else seconds)
    while True:
        try:
            return call()
        except (NoResponse, ServiceError) as error:
            why = error.meaning
            if why == "gone":
                raise Refused(
                    f"{home}: the layouts table or its mirror does not exist: {error}. `pulumi up --refresh` "
                    "recreates it. Then the coordinator puts back what was in it, or says how to go on without."
                ) from error
            if why in ("condition", "bug") or not patience.wait(why):
                raise Refused(
                    f"{home}: the home region's tables can't be used: {error}. Deploy again when that is solved: "
                    "the next run continues where this one stopped."
                ) from error


class Reachability:
    """The regions of one run, and what can't be reached there. Nothing that one answers stops another.

    What is unreachable isn't asked again in this run: every call would take long to fail. An unreachable region is
    given up as a whole, a throttled item only for its counter.
    """

    def __init__(self) -> None:
        self.unreachable: set[str] = set()
        self._denied: set[str] = set()
        """The regions whose dispensable table may not be used."""
        self._throttled: set[tuple[str, str | None]] = set()
        self._in_a_row: dict[str, int] = defaultdict(int)

    def retried(
        self,
        region: str,
        call: Callable[[], Any],
        counter: str | None,
        *,
        patient: bool = False,
        dispensable: bool = False,
    ) -> Any:
        """Return what a call to a region returns, or `Absent`. Transient errors are retried.

        `counter` is None for a call about the whole table. A wrong request is `Refused`. With `patient`, a role that
        isn't accepted yet gets minutes. If nobody may use a `dispensable` table, it counts as gone, and the region is
        still reachable.
        """
        if dispensable and region in self._denied:
            return Absent.GONE
        later = (region, counter) in self._throttled
        if later and counter is not None:
            return Absent.UNREACHABLE
        patience = _Patience(0 if later else REGION_SECONDS)
        acceptance = _Patience(FIRST_SECONDS)
        made = 0
        while region not in self.unreachable:
            try:
                answer = call()
            except (NoResponse, ServiceError) as error:
                why = error.meaning
                made += error.attempts
                if why in ("condition", "bug"):
                    raise Refused(f"{region}: DynamoDB refused a call: {error}.") from error
                if why == "gone":
                    return Absent.GONE
                if patient and why == "unaccepted" and acceptance.wait(why):
                    continue
                if (why == "unreachable" and made >= ATTEMPTS) or not patience.wait(why):
                    if why == "unaccepted" and dispensable:
                        self._denied.add(region)
                        warn("denied", region=region, error=str(error))
                        return Absent.GONE
                    self._give_up(region, counter, why, error)
                    return Absent.UNREACHABLE
            else:
                self._in_a_row[region] = 0
                return answer
        return Absent.UNREACHABLE

    def _give_up(self, region: str, counter: str | None, why: Meaning, error: Exception) -> None:
        if why in ("throttled", "conflict"):
            self._throttled.add((region, counter))
            self._in_a_row[region] += 1
            throttled_here = sum(where == region for where, _ in tuple(self._throttled))  # other threads add to it
            if self._in_a_row[region] < TOGETHER and throttled_here < MOST_THROTTLED:
                warn("throttled", region=region, **({} if counter is None else {"counter": counter}), error=str(error))
                return
        if region not in self.unreachable:
            self.unreachable.add(region)
            warn("unreachable", region=region, error=str(error))


class _Patience:
    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._longest = FIRST_PAUSE

    def wait(self, why: Meaning) -> bool:
        """Wait for a while, unless the time would be over. Return whether to try again."""
        longest = min(self._longest, LONGEST_CONFLICT) if why == "conflict" else self._longest
        pause = random.uniform(0, longest)  # noqa: S311 (not for security)
        if time.monotonic() + pause >= self._ends:
            return False
        time.sleep(pause)
        self._longest = min(2 * self._longest, LONGEST_PAUSE)
        return True


TIMEOUT, CONNECT_TIMEOUT = 5.0, 3.0
"""Seconds for an attempt, and of it for a connection: the farthest region answers after half a second."""


class Clients:
    """A client for each region, made when it is first needed."""

    def __init__(self) -> None:
        self._clients: dict[str, DynamoDB] = {}
        self._creating = threading.Lock()

    def of(self, region: str) -> DynamoDB:
        """Return the region's client."""
        with self._creating:  # all threads use its connections
            if region not in self._clients:
                self._clients[region] = DynamoDB(region, timeout=TIMEOUT, connect_timeout=CONNECT_TIMEOUT)
            return self._clients[region]


class Shared:
    """One answer for all threads that ask at the same time.

    An answer serves only those who asked before the call began. So a table that is described this way was described
    after what its caller had read or written. `moments` are increasing numbers, which order questions and calls.
    """

    def __init__(self, call: Callable[[], Any], moments: Iterator[int] | None = None) -> None:
        self._call = call
        self._moments = count(1) if moments is None else moments
        self._calling = threading.Lock()
        self._began = 0
        self._answer: tuple[Any, BaseException | None] = None, None

    def ask(self) -> Any:
        """Return an answer to a call that began after this one."""
        asked = next(self._moments)
        with self._calling:
            if self._began < asked:  # the last call is too old for this question
                self._began = next(self._moments)
                try:
                    self._answer = self._call(), None
                except BaseException as error:  # raised in every thread that waits
                    self._answer = None, error
            answer, failure = self._answer
        if failure is not None:
            raise failure
        return answer
