"""How many requests a domain's API takes in one region, and how many of them are health checks.

Callers and Route 53's checkers never compete for a token: each have a throttle of their own. The rates of both together
are no more than the function's executions serve. So an overload doesn't make a region unhealthy: callers above its
capacity get 429 from API Gateway, and the region stays in DNS. If it left, its load would overload the next one.
"""

from dataclasses import dataclass

from ..settings.args import Settings

PER_EXECUTION = 10
"""Requests per second that Lambda takes for each concurrent execution (Lambda guide, "Lambda quotas", and "Control
access to Lambda function URLs"). More are throttled, however short they are."""

ACCOUNT = (10_000, 5_000)
ACCOUNT_ELSEWHERE = (2_500, 1_250)
"""An account's default quotas, in most regions and in those of `ELSEWHERE`: requests per second (rate), and at once
(burst) (API Gateway guide, "Quotas"). All APIs of the account share them. A request that is refused by its route's
throttle takes nothing of them: that throttle is applied first (guide, "Throttle requests to your REST APIs")."""

ELSEWHERE = (
    *("af-south-1", "ap-south-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-7"),
    *("ca-west-1", "eu-central-2", "eu-south-1", "eu-south-2", "il-central-1", "me-central-1", "mx-central-1"),
)

CHECKERS = 15
"""About how many of Route 53's health checkers ask a region. They don't coordinate, so all may ask at once (Route 53
guide, "How Amazon Route 53 determines whether a health check is healthy")."""

HEALTH_SHARE = 5
"""Health checks get a fifth of the capacity, within `HEALTH_RATES`."""

HEALTH_RATES = (5, 50)
"""The least and the most requests per second of `GET /-/health`. All checkers send 1.5 per second, with a request of
each every 10 seconds: the least is three times as many. A process with a client sends one per minute, so beside the
checkers there is room for 200 at least, and for 2,900 at most. It needs no signature, and each call costs money."""

SIGNED_ROUTES = 2
"""A REST API's limits are each method's (guide, "Throttle requests to your REST APIs": "applied at the API method
level"). Callers have two: of `/`, and of the paths below it. An HTTP API has one route for all, `$default`."""


@dataclass(frozen=True)
class Throttle:
    """A token bucket."""

    rate: int
    """Requests per second."""
    burst: int
    """Requests at once."""


@dataclass(frozen=True)
class Capacity:
    """The throttles of one region's API. API Gateway doesn't keep to them strictly ("best effort")."""

    callers: Throttle
    """Of each route but `GET /-/health`."""
    health: Throttle


def capacity(settings: Settings, region: str) -> Capacity:
    """Return the capacity: what the reserved executions serve, or `apiGatewayRate` where none are reserved.

    All routes together stay within what the executions serve, and within the account's default quotas. Refused requests
    aren't billed, but those that Lambda throttles are (API Gateway pricing).
    """
    rate, burst = ACCOUNT_ELSEWHERE if region in ELSEWHERE else ACCOUNT
    reserved = settings.reserved_concurrency > 0
    served = PER_EXECUTION * settings.reserved_concurrency if reserved else settings.api_gateway_rate
    least, most = HEALTH_RATES
    health_rate = min(max(served // HEALTH_SHARE, least), most)
    health = Throttle(health_rate, max(health_rate, CHECKERS))
    left = Throttle(rate - health.rate, burst - health.burst)
    if reserved:
        left = Throttle(*(min(limit, served - health.rate) for limit in (left.rate, left.burst)))
    routes = SIGNED_ROUTES if settings.signed else 1
    callers = Throttle(left.rate // routes, left.burst // routes)
    if not reserved:
        callers = Throttle(min(callers.rate, settings.api_gateway_rate), min(callers.burst, settings.api_gateway_burst))
    return Capacity(callers, health)
