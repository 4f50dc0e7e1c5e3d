"""The AWS regions, the partitions that they are in, and those without Function URLs."""

from functools import cache

import pulumi_aws as aws

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

OTHER_PARTITIONS = {
    "cn-": "aws-cn",
    "eu-isoe-": "aws-iso-e",
    "eusc-": "aws-eusc",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "us-isof-": "aws-iso-f",
}
"""How the names of regions begin that are in another partition."""


@cache
def partitions() -> dict[str, str]:
    """Return every region that the provider knows, with its partition."""
    return {region.value: _partition(region.value) for region in aws.Region}


def _partition(region: str) -> str:
    found = [partition for prefix, partition in OTHER_PARTITIONS.items() if region.startswith(prefix)]
    return found[0] if found else PARTITION
