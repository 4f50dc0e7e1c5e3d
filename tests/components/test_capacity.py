"""What a region of a domain takes, and that an overload of one doesn't take out another.

The second is simulated. The rules are AWS's:

- API Gateway takes a token for each request, of its route's bucket (guide, "Throttle requests to your HTTP APIs").
- Lambda takes a request if an execution is free, and at most ten per second for each (guide, "Lambda quotas").
- A checker changes its mind after as many results in a row as the threshold says, both ways. An endpoint is healthy if
  more than 18 % of the checkers say so (Route 53 guide, "How Amazon Route 53 determines whether a health check is
  healthy").
- Callers go to their nearest healthy region. If none is healthy, all count as healthy (Route 53 guide, "How Amazon
  Route 53 chooses records when health checking is configured").
- Resolvers remember an answer for a minute, the TTL of an alias of API Gateway.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapreplace
from operator import itemgetter
from random import Random
from typing import Any

import pytest

from components.domain.capacity import CHECKERS, HEALTH_RATES, PER_EXECUTION, Throttle
from components.domain.dns import FAILURES, INTERVAL
from components.settings import PUBLIC_CONCURRENCY
from tests.components.aws_answers import HTTP_STAGE, METHOD_SETTINGS, ROUTE
from tests.components.recording import Deployment
from tests.components.registrations import DOMAIN
from tests.components.running import HOME, config, deploy

ELSEWHERE = "ap-southeast-3"
HEALTH = "GET /-/health"


def throttle(inputs: Mapping[str, Any]) -> Throttle:
    return Throttle(inputs["throttlingRateLimit"], inputs["throttlingBurstLimit"])


def registered(deployment: Deployment, region: str = HOME) -> dict[str, Throttle]:
    """What the program registers for callers and for health checks, in either kind of API."""
    for stage in deployment.of(HTTP_STAGE):
        if stage.inputs["region"] == region:
            routes = {of_route["routeKey"]: throttle(of_route) for of_route in stage.inputs.get("routeSettings", [])}
            return {"callers": throttle(stage.inputs["defaultRouteSettings"]), "health": routes.pop(HEALTH)}
    methods = {
        made.inputs["methodPath"]: throttle(made.inputs["settings"])
        for made in deployment.of(METHOD_SETTINGS)
        if made.inputs["region"] == region
    }
    return {"callers": methods["*/*"], "health": methods["~1-~1health/GET"]}


def of_settings(*regions: str, **values: Any) -> Deployment:
    return deploy(config(HOME, *regions, domain=DOMAIN, **values))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "callers", "health"),
    [
        ({"authorization": "NONE"}, Throttle(80, 80), Throttle(20, 20)),
        ({"authorization": "NONE", "paused": [HOME]}, Throttle(80, 80), Throttle(20, 20)),
        ({"authorization": "NONE", "reservedConcurrency": 1}, Throttle(5, 5), Throttle(5, CHECKERS)),
        ({"authorization": "NONE", "reservedConcurrency": 700}, Throttle(6950, 4950), Throttle(50, 50)),
        ({"reservedConcurrency": 5000}, Throttle(4975, 2475), Throttle(50, 50)),
        ({"reservedConcurrency": 20}, Throttle(80, 80), Throttle(40, 40)),
        ({}, Throttle(1000, 500), Throttle(50, 50)),
        ({"authorization": "NONE", "reservedConcurrency": -1}, Throttle(1000, 500), Throttle(50, 50)),
        ({"apiGatewayRate": 3, "apiGatewayBurst": 2}, Throttle(3, 2), Throttle(5, CHECKERS)),
        ({"apiGatewayRate": 100_000, "apiGatewayBurst": 100_000}, Throttle(4975, 2475), Throttle(50, 50)),
    ],
)
def test_callers_and_checks_have_a_throttle_each(values: dict[str, Any], callers: Throttle, health: Throttle) -> None:
    assert registered(of_settings(**values)) == {"callers": callers, "health": health}


@pytest.mark.slow
@pytest.mark.parametrize(("authorization", "routes"), [("NONE", 1), ("AWS_IAM", 2)])
def test_no_api_takes_more_than_the_account_may(authorization: str, routes: int) -> None:
    deployment = of_settings(ELSEWHERE, authorization=authorization, reservedConcurrency=5000)

    for region, quota in ((HOME, Throttle(10_000, 5000)), (ELSEWHERE, Throttle(2500, 1250))):
        limits = registered(deployment, region)
        assert routes * limits["callers"].rate + limits["health"].rate == quota.rate
        assert routes * limits["callers"].burst + limits["health"].burst == quota.burst


def test_a_stage_is_limited_after_its_routes_are_there(public_domain: Deployment) -> None:
    """AWS refuses it otherwise: Unable to find Route by key."""
    for stage in public_domain.of(HTTP_STAGE):
        region = stage.inputs["region"]
        routes = {r.inputs["routeKey"]: r for r in public_domain.of(ROUTE) if r.inputs["region"] == region}
        assert routes.keys() == {"$default", HEALTH}
        assert routes[HEALTH].inputs["target"] == routes["$default"].inputs["target"]
        assert {route.urn for route in routes.values()} <= stage.dependencies


def test_there_is_room_for_all_checkers() -> None:
    least = registered(of_settings(authorization="NONE", reservedConcurrency=1))["health"]

    assert least.rate == HEALTH_RATES[0] >= 3 * CHECKERS / INTERVAL
    assert least.burst >= CHECKERS, "they don't coordinate: all may ask at once"


HEALTHY_ABOVE = 0.18
"""Share of the checkers."""

TTL = 60.0
"""Seconds for which a resolver remembers an answer."""

RESOLVERS = 20
"""How many the callers near a region use. Each asks at its own time."""

USUAL = 0.01
"""Seconds of a request."""


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
    """A region: its buckets by route, its executions, its checkers."""

    buckets: dict[str, Bucket]
    executions: Executions = field(default_factory=lambda: Executions(PUBLIC_CONCURRENCY))
    checkers: list[Checker] = field(default_factory=lambda: [Checker() for _ in range(CHECKERS)])
    served: int = 0
    throttled: int = 0
    """Requests of callers that API Gateway refused: 429."""
    failed: int = 0
    """Requests of callers that Lambda refused: 5xx."""

    def healthy(self) -> bool:
        """Return whether Route 53 leads callers here."""
        return sum(checker.healthy for checker in self.checkers) > HEALTHY_ABOVE * len(self.checkers)

    def call(self, now: float) -> None:
        """Take one request of a caller."""
        if not self.buckets["callers"].take(now):
            self.throttled += 1
        elif self.executions.run(now, USUAL):
            self.served += 1
        else:
            self.failed += 1

    def check(self, now: float, checker: int) -> None:
        """Take one request of a checker."""
        self.checkers[checker].count(passed=self.buckets["health"].take(now) and self.executions.run(now, USUAL))


def arrivals(rate: float, together: bool, random: Random, end: float) -> Iterator[float]:
    """Return when so many requests per second come: at random times, or all of a second at once."""
    now = 0.0
    while now < end:
        yield from [now] * (round(rate) if together else 1)
        now += 1.0 if together else random.expovariate(rate)


def simulate(regions: Sequence[SimulatedRegion], rates: Sequence[float], *, together: bool, seed: int) -> set[int]:
    """Let callers come near each region for five minutes. Return the regions that were ever left out of DNS."""
    random, end = Random(seed), 300.0
    events: list[tuple[float, float, int, int | None]] = []
    for place, rate in enumerate(rates):
        for checker in range(CHECKERS):
            first = random.uniform(0, INTERVAL)  # they don't coordinate
            events += [(first + n * INTERVAL, random.random(), place, checker) for n in range(int(end // INTERVAL))]
        times = arrivals(rate, together and place == 0, random, end)
        events += [(now, random.random(), place, None) for now in times]
    events.sort(key=itemgetter(0, 1))  # who comes first of those that come at once is chance
    out: set[int] = set()
    answers: dict[tuple[int, int], tuple[float, int]] = {}
    """Of which resolver: until when it remembers which region."""
    for now, _, place, checker in events:
        if checker is not None:
            regions[place].check(now, checker)
            out |= set() if regions[place].healthy() else {place}
            continue
        resolver = place, random.randrange(RESOLVERS)
        until, led = answers.get(resolver, (random.uniform(0, TTL), place))
        if until < now:
            healthy = {each for each, region in enumerate(regions) if region.healthy()} or {*range(len(regions))}
            nearest = (each % len(regions) for each in range(place, place + len(regions)))
            until, led = now + TTL, next(each for each in nearest if each in healthy)
        answers[resolver] = until, led
        regions[led].call(now)
    return out


@pytest.mark.long
@pytest.mark.parametrize("together", [False, True], ids=["at random", "all at once"])
@pytest.mark.parametrize("times", [4, 10])
def test_an_overload_takes_out_no_region(public_domain: Deployment, times: float, together: bool) -> None:
    """So many times a region's capacity near the first one, and half of it near each of the others."""
    capacity, limits = PER_EXECUTION * PUBLIC_CONCURRENCY, registered(public_domain)
    for seed in range(2):
        regions = [SimulatedRegion({route: Bucket(limit) for route, limit in limits.items()}) for _ in range(3)]
        rates = [capacity * times, capacity / 2, capacity / 2]
        assert simulate(regions, rates, together=together, seed=seed) == set()
        overloaded, *others = regions
        arrived = overloaded.served + overloaded.throttled + overloaded.failed
        assert overloaded.throttled > arrived / 2
        refused = sum(region.throttled + region.failed for region in others)
        assert refused < sum(region.served for region in others) / 100


@pytest.mark.long
def test_without_limits_of_their_own_checks_are_overloaded(public_domain: Deployment) -> None:
    """So the simulation can fail."""
    capacity = PER_EXECUTION * PUBLIC_CONCURRENCY

    def out(seed: int) -> set[int]:
        shared = [Bucket(Throttle(capacity, capacity)) for _ in range(3)]
        regions = [SimulatedRegion({"callers": each, "health": each}) for each in shared]
        return simulate(regions, [capacity * 10, capacity / 2, capacity / 2], together=False, seed=seed)

    assert any(map(out, range(4)))
