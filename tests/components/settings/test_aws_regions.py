"""The regions that the program knows, beside AWS's own data."""

import boto3

from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions


def test_every_region_is_in_its_partition() -> None:
    session = boto3.Session()
    found = {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("lambda", partition)
    }

    assert {region: found[region] for region in partitions() if region in found} == {
        region: partition for region, partition in partitions().items() if region in found
    }
    assert {"us-east-1", "cn-north-1", "us-gov-east-1", "eusc-de-east-1"} <= found.keys() & partitions().keys()
    assert set(WITHOUT_FUNCTION_URLS) <= partitions().keys()
