"""The AWS regions that have Lambda, and the partitions that they are in."""

from functools import cache

import boto3


@cache
def partitions() -> dict[str, str]:
    """Return every region that has Lambda, with its partition: from botocore's own data, without network."""
    session = boto3.Session()
    return {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("lambda", partition)
    }
