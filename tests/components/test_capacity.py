"""What a region of a domain takes, and that an overload doesn't take it out of DNS, and so not the others either.

The second is simulated. The rules are AWS's:

- API Gateway takes a token for each request, of its route's bucket (guide, "Throttle requests to your HTTP APIs").
- Lambda takes a request if an execution is free, and at most ten per second for each (guide, "Lambda quotas").
- A checker changes its mind after as many results in a row as the threshold says, both ways. An endpoint is healthy if
  more than 18 % of the checkers say so (Route 53 guide, "How Amazon Route 53 determines whether a health check is
  healthy").
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
    """At the least rate; the burst is never less than they are, since they don't coordinate: all may ask at once."""
    assert HEALTH_RATES[0] >= 3 * CHECKERS / INTERVAL


HEALTHY_ABOVE = 0.18
"""Share of the checkers."""

CAPACITY = PER_EXECUTION * PUBLIC_CONCURRENCY

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


def simulate(callers: Bucket, checks: Bucket, rate: float, *, together: bool, seed: int) -> tuple[bool, int]:
    """Let callers come for five minutes. Return whether the region was ever left out of DNS, and how many it served."""
    random, end = Random(seed), 300.0
    executions, checkers = Executions(PUBLIC_CONCURRENCY), [Checker() for _ in range(CHECKERS)]
    events: list[tuple[float, float, int | None]] = []
    for checker in range(CHECKERS):
        first = random.uniform(0, INTERVAL)  # they don't coordinate
        events += [(first + n * INTERVAL, random.random(), checker) for n in range(int(end // INTERVAL))]
    for _ in range(round(rate * end)):
        now = random.uniform(0, end)
        events.append((float(int(now)) if together else now, random.random(), None))
    out, served = False, 0
    for now, _, checker in sorted(events, key=itemgetter(0, 1)):  # who comes first of those at once is chance
        bucket = callers if checker is None else checks
        passed = bucket.take(now) and executions.run(now, USUAL)
        if checker is None:
            served += passed
        else:
            checkers[checker].count(passed=passed)
            out |= sum(each.healthy for each in checkers) <= HEALTHY_ABOVE * CHECKERS
    return out, served


@pytest.mark.long
@pytest.mark.parametrize("together", [False, True], ids=["at random", "all at once"])
@pytest.mark.parametrize("times", [4, 10])
def test_an_overloaded_region_stays_in_dns(public_domain: Deployment, times: float, together: bool) -> None:
    """So its callers don't go to others. They are so many times its capacity."""
    limits = registered(public_domain)
    for seed in range(2):
        callers, checks = Bucket(limits["callers"]), Bucket(limits["health"])
        out, served = simulate(callers, checks, CAPACITY * times, together=together, seed=seed)
        assert not out
        assert 0 < served < 300 * CAPACITY
