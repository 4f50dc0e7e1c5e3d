"""The AWS regions that have Lambda, the partitions that they are in, and those without Function URLs."""

from functools import cache

import boto3

WITHOUT_FUNCTION_URLS = frozenset(
    {
        *("ap-east-2", "ap-south-2", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7"),
        *("ca-west-1", "eu-central-2", "eu-south-2", "il-central-1", "me-central-1"),
    }
)
"""Lambda guide, "Creating and managing Lambda function URLs", as of November 2026."""


PARTITION = "aws"
"""The partition that has all that is deployed. Those of China and of the US government have no Function URLs ("AWS
Lambda" in the guides of both); of the others, it isn't known."""


@cache
def partitions() -> dict[str, str]:
    """Return every region that has Lambda, with its partition: from botocore's own data, without network."""
    session = boto3.Session()
    return {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("lambda", partition)
    }
