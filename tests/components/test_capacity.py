"""What a region of a domain takes, and that an overload doesn't take it out of DNS, and so not the others either.

Callers and health checks have a throttle each (API Gateway guide, "Throttle requests to your HTTP APIs"). Together they
take what the function's executions serve, so a check always finds room.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from components.domain.capacity import CHECKERS, HEALTH_RATES, PER_EXECUTION, Throttle
from components.domain.dns import INTERVAL
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


def test_there_is_room_for_all_checkers_beside_callers(public_domain: Deployment) -> None:
    """At the least rate; the burst is never less than they are, since they don't coordinate: all may ask at once."""
    callers, health = registered(public_domain).values()

    assert callers.rate + health.rate <= PER_EXECUTION * PUBLIC_CONCURRENCY
    assert HEALTH_RATES[0] >= 3 * CHECKERS / INTERVAL
    assert health.burst >= CHECKERS
