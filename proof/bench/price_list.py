"""What AWS charges in us-east-1, in dollars, without free tiers: the one list of all prices here, of November 2026."""

from typing import NamedTuple


class Price(NamedTuple):
    """A price, and the page of AWS that has it."""

    dollars: float
    page: str


CLOUDWATCH = "Amazon CloudWatch Pricing"
ROUTE_53 = "Amazon Route 53 Pricing"
EC2 = "Amazon EC2 On-Demand Pricing"
KMS = "AWS Key Management Service Pricing"
LAMBDA = "AWS Lambda Pricing"
DYNAMODB = "Amazon DynamoDB Pricing for On-Demand Capacity"
API_GATEWAY = "Amazon API Gateway Pricing"

# For a month.
METRIC = Price(0.30, CLOUDWATCH)
"""A metric of a namespace of one's own, by name and dimensions. Those of AWS's services are free."""
ALARM = Price(0.10, CLOUDWATCH)
"""For each metric that it is on."""
COMPOSITE_ALARM = Price(0.50, CLOUDWATCH)
DASHBOARD = Price(3.00, CLOUDWATCH)
HEALTH_CHECK = Price(0.50, ROUTE_53)
"""Of an endpoint on AWS in the same account."""
HEALTH_CHECK_FEATURE = Price(1.00, ROUTE_53)
"""HTTPS, a string to find, an interval of 10 seconds, or measured latency."""
HOSTED_ZONE = Price(0.50, ROUTE_53)
KEY = Price(1.00, KMS)
STORED = Price(0.25e-9 + 0.20e-9, DYNAMODB)
"""A byte in a table of the class "Standard", with point-in-time recovery."""

# For each one.
KEY_REQUEST = Price(0.03 / 10_000, KMS)
READ_UNIT = Price(0.125e-6, DYNAMODB)
WRITE_UNIT = Price(0.625e-6, DYNAMODB)
REQUEST = Price(0.20e-6, LAMBDA)
GB_SECOND = Price(13.3334e-6, LAMBDA)
"""On arm64."""
REST_API_REQUEST = Price(3.50e-6, API_GATEWAY)
HTTP_API_REQUEST = Price(1.00e-6, API_GATEWAY)
DATA_OUT = Price(0.09e-9, EC2)
"""A byte that leaves AWS for the Internet: "Data Transfer", the first 10 TB a month."""
LOG = Price(0.50e-9, CLOUDWATCH)
"""A byte of a log line."""


def execution(seconds: float, megabytes: int) -> float:
    """Return what an execution of a function costs by its duration, in dollars. `REQUEST` is added to it."""
    return seconds * megabytes / 1024 * GB_SECOND.dollars
