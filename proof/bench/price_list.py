"""What AWS charges in us-east-1, in dollars, without free tiers: the one list of all prices here, of November 2026."""

# For a month. "Amazon CloudWatch Pricing":
METRIC = 0.30
"""A metric of a namespace of one's own, by name and dimensions. Those of AWS's services are free."""
ALARM = 0.10
"""For each metric that it is on."""
COMPOSITE_ALARM = 0.50
DASHBOARD = 3.00

# "Amazon Route 53 Pricing":
HEALTH_CHECK = 0.50
"""Of an endpoint on AWS in the same account."""
HEALTH_CHECK_FEATURE = 1.00
"""HTTPS, a string to find, an interval of 10 seconds, or measured latency."""
HOSTED_ZONE = 0.50

# "AWS Key Management Service Pricing", and for each request:
KEY = 1.00
KEY_REQUEST = 0.03 / 10_000

# "Amazon DynamoDB Pricing for On-Demand Capacity", and for each unit:
STORED = 0.25e-9 + 0.20e-9
"""A byte in a table of the class "Standard", with point-in-time recovery."""
READ_UNIT = 0.125e-6
WRITE_UNIT = 0.625e-6

# For each one. "AWS Lambda Pricing":
REQUEST = 0.20e-6
GB_SECOND = 13.3334e-6
"""On arm64."""

# "Amazon API Gateway Pricing":
REST_API_REQUEST = 3.50e-6
HTTP_API_REQUEST = 1.00e-6

# "Amazon EC2 On-Demand Pricing":
DATA_OUT = 0.09e-9
"""A byte that leaves AWS for the Internet: "Data Transfer", the first 10 TB a month."""

# "Amazon CloudWatch Pricing":
LOG = 0.50e-9
"""A byte of a log line."""


def execution(seconds: float, megabytes: int) -> float:
    """Return what an execution of a function costs by its duration. `REQUEST` is added to it."""
    return seconds * megabytes / 1024 * GB_SECOND
