"""Checks one setting after the other, and collects what is wrong."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, cast

from integers.lattice import MAX_FLOOR, MAX_REGIONS
from integers.names import COUNTER_NAME, RESERVED, reserved

from ..names import MAX_ROLE_NAME, PREFIX, ResourceNames
from .alarms import AlarmChecks
from .args import GlobalIntegersArgs
from .aws_regions import PARTITION, WITHOUT_FUNCTION_URLS, partitions
from .values import did_you_mean, unknown_setting, whole

ORIGIN = re.compile(r"\*|https?://[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
"""Lambda API reference, Cors: an origin, or every one."""

NO_FUNCTION_URLS = 'no Lambda Function URLs (Lambda guide, "Creating and managing Lambda function URLs")'

LIST_OF_REGIONS = (
    'the AWS page "AWS Regions": https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html'
)

OTHER_COUNTERS = "*"
"""In `floors`: all counters that have no floor of their own."""

ATTRIBUTES = tuple(field.name for field in fields(GlobalIntegersArgs))


class Checks(AlarmChecks):
    """Checks each setting and returns its value. Each error adds a line to `errors`."""

    def home(self) -> str:
        """Return the home region, empty if there is none."""
        home = self._values.get("home")
        if not home:
            self.errors.append(
                f"{self._key('home')}: not set; it is the home region, with the layouts table and the coordinator: "
                f"{self._example('home', 'us-east-1')}"
            )
            return ""
        if not isinstance(home, str):
            self.wrong("home", home, "is not a string")
            return ""
        self._check_regions("home", [home], deployed=True)
        return home

    def regions(self) -> tuple[str, ...]:
        """Return the regions of the layout: different ones, in which all that is deployed exists."""
        regions = self.strings("regions", None, ["us-east-1", "eu-west-1"])
        self._check_regions("regions", regions, deployed=True)
        if len(regions) > MAX_REGIONS:
            self.errors.append(f"{self._key('regions')}: {len(regions)} regions; at most {MAX_REGIONS} are possible")
        return regions

    def leaving(self, regions: Sequence[str]) -> tuple[str, ...]:
        """Return the regions that are leaving. They must be outside the layout."""
        leaving = self.strings("leaving", (), ["us-west-2"], may_be_empty=True)
        self._check_regions("leaving", leaving, deployed=True)
        for region in dict.fromkeys(leaving):
            if region in regions:
                listed = self._key("regions")
                self.wrong("leaving", region, f"is in {listed} too; a region either mints or leaves, so remove one")
        return leaving

    def one_partition(self, regions: Iterable[str]) -> None:
        """Check that these regions can belong to one account."""
        found = {partitions().get(region) for region in regions} - {None}
        if len(found) > 1 and found <= {PARTITION, *(partitions().get(region) for region in self._allowed)}:
            listed = ", ".join(sorted(map(str, found)))
            self.errors.append(
                f"{self._key('regions')}: with {self._key('home')} and {self._key('leaving')} they lie in different "
                f"AWS partitions ({listed}); a stack belongs to one account, and so to one partition"
            )

    def function_urls(self, **regions: Sequence[str]) -> None:
        """Check that these regions, by the setting that lists them, have Function URLs."""
        allowed = self._allowed  # read here, so that a wrong list is reported even if no region needs it
        for name, listed in regions.items():
            for region in dict.fromkeys(listed):
                if region in WITHOUT_FUNCTION_URLS and region not in allowed:
                    self.wrong(name, region, f"has {NO_FUNCTION_URLS}; {self._if_now(region)}")

    @cached_property
    def _allowed(self) -> tuple[str, ...]:
        """The setting `allow_url_regions`: regions to accept although nothing is known of Function URLs there."""
        allowed = self.strings("allow_url_regions", (), ["ca-west-1"], may_be_empty=True)
        self._check_regions("allow_url_regions", allowed, deployed=False)
        return allowed

    def _if_now(self, region: str) -> str:
        how = self._example("allow_url_regions", [*self._allowed, region])
        return f"if AWS offers all of it in {region} now, allow the region: {how}"

    def counters(self) -> tuple[str, ...]:
        """Return the counters' names, each once."""
        counters = self.strings("counters", ("integers",), ["integers"])
        for counter in dict.fromkeys(counters):
            self._check_counter("counters", counter)
            if counter in RESERVED:
                how = self._example("floors", {"<counter>": 1000})
                hint = (
                    "take it out of the list. If it exists already, it goes on minting at its own path of a Function "
                    "URL. If it was the first counter, another one is then at /: give that one a floor above the "
                    f"integers of {counter!r}, {how}"
                )
                self.errors.append(f"{self._key('counters')}: {reserved(counter)}; {hint}")
        return counters

    def counters_fit(self, counters: int, fitting: int, floors: int) -> None:
        """Check that all counters fit into what the coordinator stores and replies (`fitting`)."""
        if fitting < 1:
            self.errors.append(
                f"{self._key('floors')}: {floors:,} floors leave no room for a counter in the record of the "
                "deployment; a floor can be removed once it has been deployed"
            )
        elif fitting < counters:
            self.errors.append(
                f"{self._key('counters')}: {counters:,} counters; the first {fitting:,} of these names fit into the "
                "record of the deployment and the coordinator's reply. Create the others without a deployment: "
                'they are not a setting, and as many as you like (docs/runbook.md, "Create a counter without a '
                'deployment")'
            )

    def floors(self) -> dict[str, int]:
        """Return the floors by counter; `*` stands for all counters that have no floor of their own."""
        value = self._values.get("floors")
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            how = self._example("floors", {"integers": 5_000_000})
            self.wrong("floors", value, f"is not an object of counters and integers: {how}")
            return {}
        floors: dict[str, int] = {}
        for counter, floor in cast("Mapping[Any, Any]", value).items():
            if not isinstance(counter, str):
                self.wrong("floors", counter, "is not a counter's name")
                continue
            if counter != OTHER_COUNTERS:
                self._check_counter("floors", counter)
            number = whole(floor)
            if number is not None and 1 <= number <= MAX_FLOOR:
                floors[counter] = number
            else:
                what = "is not an integer" if number is None else "is out of range"
                self.errors.append(
                    f"{self._key('floors')}.{counter}: {floor!r} {what}; 1 to {MAX_FLOOR} (2^52) are allowed"
                )
        return floors

    def origins(self) -> tuple[str, ...]:
        """Return the origins that may call from a browser."""
        origins = self.strings("cors_origins", (), ["https://shop.example"], may_be_empty=True)
        for origin in dict.fromkeys(origins):
            if not ORIGIN.fullmatch(origin):
                self.wrong("cors_origins", origin, "is not an origin like https://shop.example, nor *")
        return origins

    def prefix(self, names: ResourceNames, regions: Iterable[str], *, gateway: bool) -> None:
        """Check that the prefix makes names that AWS takes."""
        instead = (
            "; choose another name before the first deployment, with `pulumi stack init` or the argument `prefix`: "
            "a stack that stands can't be renamed, because that would replace its tables"
        )
        if not PREFIX.fullmatch(names.prefix):
            allowed = "may hold letters, digits, - and _ only, as a Lambda function's name"
            self.wrong("prefix", names.prefix, allowed + instead)
        room = names.room(regions, gateway=gateway)
        if len(names.prefix) > room:
            self.wrong(
                "prefix",
                names.prefix,
                f"has {len(names.prefix)} characters; with these regions at most {room} are possible, since IAM limits "
                f"a role's name to {MAX_ROLE_NAME}{instead}",
            )

    def unknown_keys(self) -> None:
        """Check that every key is a setting."""
        known = list(map(self._key, ATTRIBUTES))
        self.errors += [unknown_setting(name, known) for name in self._values if name not in ATTRIBUTES]

    def _check_counter(self, name: str, counter: str) -> None:
        if not COUNTER_NAME.fullmatch(counter):
            self.wrong(name, counter, f"is not a counter's name; it must match {COUNTER_NAME.pattern}")

    def _check_regions(self, name: str, regions: Sequence[str], *, deployed: bool) -> None:
        """Check that these are regions and, where something is deployed to them, that all of it exists there."""
        for region in dict.fromkeys(regions):
            partition = partitions().get(region)
            if partition is None:
                hint = did_you_mean(region, partitions()) or f"; see {LIST_OF_REGIONS}"
                self.wrong(name, region, f"is not an AWS region{hint}")
            elif deployed and partition != PARTITION and region not in self._allowed:
                what = f"is in the partition {partition}; only {PARTITION} is known to have all that is deployed"
                others = f"China and GovCloud, for example, have {NO_FUNCTION_URLS}"
                self.wrong(name, region, f"{what} ({others}); {self._if_now(region)}")
