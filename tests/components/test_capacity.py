"""What a region of a domain takes, and that an overload of one doesn't take out a second, by Route 53's rule."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.domain.capacity import CHECKERS, HEALTH_RATES, PER_EXECUTION, Throttle
from components.domain.dns import FAILURES, INTERVAL
from components.settings import PUBLIC_CONCURRENCY
from tests.components.aws_answers import HTTP_STAGE, METHOD_SETTINGS, ROUTE
from tests.components.overload import Bucket, Checker, Executions, Load, SimulatedRegion, simulate
from tests.components.recording import Deployment
from tests.components.registrations import DOMAIN
from tests.components.running import HOME, config, deploy

ELSEWHERE = "ap-southeast-3"
HEALTH = "GET /-/health"
REGIONS = 3
MINUTES = 5
SEEDS = range(4)
USUAL = 0.01
"""Seconds of a request."""

SLOWEST = 1 / PER_EXECUTION
"""Seconds of a request up to which the executions serve all that the throttles let through."""


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


def test_a_checker_changes_its_mind_by_the_threshold() -> None:
    checker = Checker()
    opinions: list[bool] = []
    for passed in (False, True, False, False, True, False, True, True):
        checker.count(passed=passed)
        opinions.append(checker.healthy)

    assert FAILURES == 2
    assert opinions == [True, True, True, False, False, False, False, True]


@pytest.mark.parametrize(("sick", "healthy"), [(12, True), (13, False)])
def test_more_than_18_percent_make_a_region_healthy(sick: int, healthy: bool) -> None:
    """Three of fifteen are 20 %, two are 13 %."""
    region = one_throttle()
    for checker in region.checkers[:sick]:
        checker.healthy = False

    assert region.healthy() is healthy


def one_throttle(seconds: float = USUAL) -> SimulatedRegion:
    """A region by the rule of before: callers and checks share a throttle of as much as Lambda takes."""
    most = PER_EXECUTION * PUBLIC_CONCURRENCY
    shared = Bucket(Throttle(most, most))
    return SimulatedRegion({"callers": shared, "health": shared}, Executions(PUBLIC_CONCURRENCY), seconds)


@pytest.fixture(scope="module")
def its_own(public_domain: Deployment) -> Callable[..., SimulatedRegion]:
    """Make a region of a public domain as the program registers it."""
    limits = registered(public_domain)

    def make(seconds: float = USUAL) -> SimulatedRegion:
        buckets = {route: Bucket(limit) for route, limit in limits.items()}
        return SimulatedRegion(buckets, Executions(PUBLIC_CONCURRENCY), seconds)

    return make


CAPACITY = PER_EXECUTION * PUBLIC_CONCURRENCY


def loads(times: float, *, together: bool = False) -> list[Load]:
    """So many times a region's capacity near the first region, and half of it near each of the others."""
    others = [Load(place, CAPACITY / 2) for place in range(1, REGIONS)]
    return [Load(0, CAPACITY * times, together=together), *others]


@pytest.mark.long
@pytest.mark.parametrize("times", [4, 10])
def test_with_one_throttle_an_overload_takes_out_the_next(times: float) -> None:
    """When depends on chance: which checkers get through, and whose answers of DNS end first."""
    runs = (simulate([one_throttle() for _ in range(REGIONS)], loads(times), MINUTES, seed) for seed in SEEDS)

    assert any(out >= {0, 1} for out in runs)


@pytest.mark.long
@pytest.mark.parametrize("together", [False, True], ids=["at random", "all at once"])
@pytest.mark.parametrize("times", [4, 10])
def test_with_two_an_overload_takes_out_no_region(
    its_own: Callable[..., SimulatedRegion], times: float, together: bool
) -> None:
    for seed in SEEDS:
        regions = [its_own() for _ in range(REGIONS)]
        assert simulate(regions, loads(times, together=together), MINUTES, seed) == set()
        overloaded, *others = regions
        arrived = overloaded.served + overloaded.throttled + overloaded.failed
        assert overloaded.throttled > arrived / 2
        refused = sum(region.throttled + region.failed for region in others)
        assert refused < sum(region.served for region in others) / 100


@pytest.mark.long
def test_a_region_that_fails_overloads_the_next_for_long(its_own: Callable[..., SimulatedRegion]) -> None:
    """All load of two regions, ten times what one takes, arrives at one: it stays."""
    regions = [its_own() for _ in range(REGIONS)]
    regions[0].down = True

    assert simulate(regions, loads(10), MINUTES) == {0}
    assert regions[1].throttled > regions[1].served > 0


@pytest.mark.long
@pytest.mark.parametrize(("seconds", "out"), [(SLOWEST, set[int]()), (3 * SLOWEST, {0, 1, 2})])
def test_slow_requests_take_the_executions(
    its_own: Callable[..., SimulatedRegion], seconds: float, out: set[int]
) -> None:
    """Health checks need an execution too. Lambda's ten per second and execution are one at a time of 0.1 s."""
    assert simulate([its_own(seconds) for _ in range(REGIONS)], loads(4), MINUTES) == out
