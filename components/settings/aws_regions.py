"""The AWS regions: which there are, what they lack, and the checks of the settings that list them."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import pulumi_aws as aws

from global_integers_core.lattice import MAX_REGIONS

from .args import Settings
from .values import Findings, did_you_mean

WITHOUT_FUNCTION_URLS = (
    *("ap-east-2", "ap-south-2", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7"),
    *("ca-west-1", "eu-central-2", "eu-south-2", "il-central-1", "me-central-1"),
)
"""Lambda guide, "Creating and managing Lambda function URLs", as of November 2026."""

NO_FUNCTION_URLS = 'no Lambda Function URLs (Lambda guide, "Creating and managing Lambda function URLs")'

LIST_OF_REGIONS = (
    'the AWS page "AWS Regions": https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html'
)

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
    others = OTHER_PARTITIONS.items()
    return {
        region.value: next((partition for prefix, partition in others if region.startswith(prefix)), PARTITION)
        for region in aws.Region
    }


def check_regions(settings: Settings, findings: Findings) -> None:
    """Check the settings that list regions, but for `waves`."""
    allowed, home = settings.allow_url_regions, [settings.home] if settings.home else []
    listed = {"home": home, "regions": settings.regions, "leaving": settings.leaving, "allow_url_regions": allowed}
    for name, regions in listed.items():
        for region in dict.fromkeys(regions):
            partition = partitions().get(region)
            if partition is None:
                hint = did_you_mean(region, partitions()) or f"; see {LIST_OF_REGIONS}"
                findings.wrong(name, region, f"is not an AWS region{hint}")
            elif partition != PARTITION and region not in allowed:
                what = f"is in the partition {partition}; only {PARTITION} is known to have all that is deployed"
                others = f"China and GovCloud, for example, have {NO_FUNCTION_URLS}"
                findings.wrong(name, region, f"{what} ({others}); {_if_now(region, allowed, findings)}")
    if len(settings.regions) > MAX_REGIONS:
        findings.add("regions", f"{len(settings.regions)} regions; at most {MAX_REGIONS} are possible")
    for region in dict.fromkeys(settings.leaving):
        if region in settings.regions:
            also = findings.key("regions")
            findings.wrong("leaving", region, f"is in {also} too; a region either mints or leaves, so remove one")
    for region in dict.fromkeys(settings.paused):
        if region not in settings.deployed:
            hint = did_you_mean(region, settings.deployed)
            findings.wrong("paused", region, f"is neither in regions nor in leaving{hint}")
    found = {partitions().get(region) for region in (settings.home, *settings.deployed)} - {None}
    if len(found) > 1 and found <= {PARTITION, *(partitions().get(region) for region in allowed)}:
        findings.add(
            "regions",
            f"with {findings.key('home')} and {findings.key('leaving')} they lie in different AWS partitions "
            f"({', '.join(sorted(map(str, found)))}); a stack belongs to one account, and so to one partition",
        )
    if settings.function_urls:
        for name, regions in {"regions": settings.regions, "leaving": settings.leaving}.items():
            for region in dict.fromkeys(regions):
                if region in WITHOUT_FUNCTION_URLS and region not in allowed:
                    findings.wrong(name, region, f"has {NO_FUNCTION_URLS}; {_if_now(region, allowed, findings)}")


def _if_now(region: str, allowed: Sequence[str], findings: Findings) -> str:
    how = findings.example("allow_url_regions", [*allowed, region])
    return f"if AWS offers all of it in {region} now, allow the region: {how}"


FIRST, REST = "first", "rest"
"""In a wave: the first region of the layout, and the regions that no wave names."""


def waves(settings: Settings, findings: Findings) -> tuple[tuple[str, ...], ...]:
    """Return every region in its wave; all in one wave if the setting is an empty list."""
    first = settings.regions[0] if settings.regions else FIRST
    listed = [[first if region == FIRST else region for region in wave] for wave in settings.waves]
    _check_waves(listed, settings, findings)
    named = {region for wave in listed for region in wave}
    rest = [region for region in settings.deployed if region not in named]
    if REST not in named:
        listed = [*listed[:-1], [*(listed[-1] if listed else ()), REST]]
    return tuple(
        filter(None, (tuple(one for name in wave for one in (rest if name == REST else [name])) for wave in listed))
    )


def _check_waves(listed: Sequence[Sequence[str]], settings: Settings, findings: Findings) -> None:
    regions, named = settings.deployed, {region for wave in settings.waves for region in wave}
    for number, wave in enumerate(listed, 1):
        if not wave:
            findings.wrong("waves", listed, f"has no region in wave {number}; name one, or remove the wave")
    for region, times in Counter(region for wave in listed for region in wave).items():
        if region not in (*regions, FIRST, REST):  # without regions, FIRST is not replaced by a name
            where = f"neither in {findings.key('regions')} nor in {findings.key('leaving')}"
            findings.wrong("waves", region, f"is {where}{did_you_mean(region, (*regions, FIRST, REST))}")
        elif times > 1:
            also = f" ({FIRST!r} is this region)" if FIRST in named and region == regions[0] else ""
            findings.wrong("waves", region, f"is listed {times} times{also}; each may be listed once")
