"""Overload of a domain, simulated: throttles, executions, Route 53's checkers, and callers who go where DNS leads.

The rules are AWS's:

- API Gateway takes a token for each request, of its route's bucket (guide, "Throttle requests to your HTTP APIs").
- Lambda takes a request if an execution is free, and at most ten per second for each (guide, "Lambda quotas").
- A checker changes its mind after as many results in a row as the threshold says, both ways. An endpoint is healthy if
  more than 18 % of the checkers say so (Route 53 guide, "How Amazon Route 53 determines whether a health check is
  healthy").
- Callers go to their nearest healthy region. If none is healthy, all count as healthy (Route 53 guide, "How Amazon
  Route 53 chooses records when health checking is configured").
- Resolvers remember an answer for a minute, the TTL of an alias of API Gateway. That is what makes regions fall one
  after the other: a region is healthy again seconds after its load has left, but the load comes back only later.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapreplace
from operator import itemgetter
from random import Random

from components.domain.capacity import CHECKERS, PER_EXECUTION, Throttle
from components.domain.dns import FAILURES, INTERVAL

HEALTHY_ABOVE = 0.18
"""Share of the checkers."""

TTL = 60.0
"""Seconds for which a resolver remembers an answer."""


class Bucket:
    """A token bucket: full at first."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self._tokens, self._at = float(throttle.burst), 0.0

    def take(self, now: float) -> bool:
        """Return whether there is a token at `now`, in seconds, and take it."""
        gained = (now - self._at) * self._throttle.rate
        self._tokens, self._at = min(self._throttle.burst, self._tokens + gained), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Executions:
    """The function's concurrent executions, all free at first."""

    def __init__(self, count: int) -> None:
        self._free_at = [0.0] * count
        most = PER_EXECUTION * count
        self._rate = Bucket(Throttle(most, most))

    def run(self, now: float, seconds: float) -> bool:
        """Return whether Lambda runs a request of so many seconds, or throttles it."""
        if self._free_at[0] > now or not self._rate.take(now):
            return False
        heapreplace(self._free_at, now + seconds)
        return True


@dataclass
class Checker:
    """One of Route 53's checkers. It begins by taking the region for healthy."""

    healthy: bool = True
    against: int = 0
    """How many results in a row spoke against that."""

    def count(self, *, passed: bool) -> None:
        """Count one result."""
        self.against = 0 if passed == self.healthy else self.against + 1
        if self.against == FAILURES:
            self.healthy, self.against = passed, 0


@dataclass
class SimulatedRegion:
    """A region: its buckets by route (two routes may share one), its executions, its checkers."""

    buckets: dict[str, Bucket]
    executions: Executions
    seconds: float
    """How long a request takes."""
    down: bool = False
    """Whether it can't mint, so its health is 503."""
    checkers: list[Checker] = field(default_factory=lambda: [Checker() for _ in range(CHECKERS)])
    served: int = 0
    throttled: int = 0
    """Requests of callers that API Gateway refused: 429."""
    failed: int = 0
    """Requests of callers that Lambda refused: 5xx."""

    def healthy(self) -> bool:
        """Return whether Route 53 leads callers here."""
        return sum(checker.healthy for checker in self.checkers) > HEALTHY_ABOVE * len(self.checkers)

    def call(self, now: float, route: str) -> None:
        """Take one request of a caller."""
        if not self.buckets[route].take(now):
            self.throttled += 1
        elif self.down or not self.executions.run(now, self.seconds):
            self.failed += 1
        else:
            self.served += 1

    def check(self, now: float, checker: int) -> None:
        """Take one request of a checker."""
        took = self.buckets["health"].take(now) and self.executions.run(now, self.seconds)
        self.checkers[checker].count(passed=took and not self.down)


@dataclass(frozen=True)
class Load:
    """Callers near a region, who come at random times or all at once each second."""

    nearest: int
    """The region's place. The next ones in the list, from the first again after the last, are farther away."""
    rate: float
    """Requests per second."""
    route: str = "callers"
    together: bool = False
    resolvers: int = 20
    """How many they use. Each asks at its own time."""
    fixed: bool = False
    """Whether they call the region's own name, so they stay when Route 53 leaves it out."""


def _times(load: Load, random: Random, end: float) -> Iterator[float]:
    now = 0.0
    while now < end:
        if load.together:
            yield from [now] * round(load.rate)
        now += 1.0 if load.together else random.expovariate(load.rate)
        if not load.together:
            yield now


def _checks(random: Random, end: float) -> Iterator[tuple[float, int]]:
    for checker in range(CHECKERS):
        now = random.uniform(0, INTERVAL)  # they don't coordinate
        while now < end:
            yield now, checker
            now += INTERVAL


def simulate(regions: Sequence[SimulatedRegion], loads: Sequence[Load], minutes: float, seed: int = 0) -> set[int]:
    """Let the load arrive for so many minutes. Return the places of the regions that were ever left out of DNS."""
    random, end = Random(seed), minutes * 60
    events: list[tuple[float, float, Load | tuple[int, int]]] = []
    for place in range(len(regions)):
        events += [(now, random.random(), (place, checker)) for now, checker in _checks(random, end)]
    for load in loads:
        events += [(now, random.random(), load) for now in _times(load, random, end)]
    events.sort(key=itemgetter(0, 1))  # who comes first of those that come at once is chance
    out: set[int] = set()
    leads = _leads(regions)
    answers: dict[tuple[Load, int], tuple[float, int]] = {}
    """Of which resolver: until when it remembers which region."""
    for now, _, what in events:
        if isinstance(what, Load):
            resolver = what, random.randrange(what.resolvers)
            until, place = answers.get(resolver, (random.uniform(0, TTL), what.nearest))
            if until < now and not what.fixed:
                until, place = now + TTL, what.nearest
                while place not in leads:
                    place = (place + 1) % len(regions)
            answers[resolver] = until, place
            regions[place].call(now, what.route)
        else:
            place, checker = what
            regions[place].check(now, checker)
            out |= set() if regions[place].healthy() else {place}
            leads = _leads(regions)
    return out


def _leads(regions: Sequence[SimulatedRegion]) -> set[int]:
    """Return the places of the regions that DNS leads to."""
    return {place for place, region in enumerate(regions) if region.healthy()} or set(range(len(regions)))
