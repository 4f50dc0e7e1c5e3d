"""Reads a stack's configuration, one setting after the other, and collects what is wrong."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

import boto3
import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from .layout import MAX_FLOOR, MAX_REGIONS
from .names import COUNTER_NAME

ORIGIN = re.compile(r"\*|https?://[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
"""Lambda API reference, Cors: an origin, or every one."""

LONGEST_NAME = 64
"""Of a Lambda function and of an IAM role (Lambda CreateFunction, IAM CreateRole)."""


class SettingsError(pulumi.RunError):
    """One or more settings are wrong. The message has a line for each; no resource was registered."""


class Reader:
    """Reads one setting after the other and collects what is wrong."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.config = pulumi.Config(project)
        self.known: set[str] = set()
        self.errors: list[str] = []

    def raw(self, key: str) -> str | None:
        self.known.add(key)
        return self.config.get(key)

    def wrong(self, key: str, value: object, allowed: str) -> None:
        self.errors.append(f"{key}: {value!r} {allowed}")

    def home(self) -> str:
        home = pulumi.Config("aws").get("region")
        if not home:
            self.errors.append(
                "aws:region: not set; it is the home region, where the layouts table and the coordinator live: "
                "pulumi config set aws:region us-east-1"
            )
            return ""
        self._check_region("aws:region", home)
        return home

    def regions(self, home: str) -> tuple[str, ...]:
        regions = self._strings("regions", None, 'pulumi config set --path "regions[0]" us-east-1')
        for region in dict.fromkeys(regions):
            self._check_region("regions", region)
        self._check_repeats("regions", regions)
        if len(regions) > MAX_REGIONS:
            self.errors.append(f"regions: {len(regions)} regions; at most {MAX_REGIONS} are possible")
        found = {_partition_of(region) for region in (*regions, home)} - {None}
        if len(found) > 1:
            listed = ", ".join(sorted(map(str, found)))
            self.errors.append(
                f"regions: with aws:region they lie in different AWS partitions ({listed}); "
                "a stack belongs to one account, and so to one partition"
            )
        return regions

    def counters(self) -> tuple[str, ...]:
        counters = self._strings("counters", ("integers",), 'pulumi config set --path "counters[0]" integers')
        for counter in dict.fromkeys(counters):
            if not COUNTER_NAME.fullmatch(counter):
                self.wrong("counters", counter, f"is not a counter's name; it must match {COUNTER_NAME.pattern}")
        self._check_repeats("counters", counters)
        return counters

    def floors(self) -> dict[str, int]:
        value = self.raw("floors")
        how = "pulumi config set --path floors.integers 5000000"
        parsed: Any = _parsed(value) if value is not None else {}
        if not isinstance(parsed, dict):
            self.wrong("floors", value, f"is not an object of counters and integers: {how}")
            return {}
        floors = cast("dict[str, Any]", parsed)
        for counter, floor in floors.items():
            if not COUNTER_NAME.fullmatch(counter):
                self.wrong("floors", counter, f"is not a counter's name; it must match {COUNTER_NAME.pattern}")
            if not isinstance(floor, int) or isinstance(floor, bool):
                self.wrong(f"floors.{counter}", floor, f"is not an integer; 1 to {MAX_FLOOR} (2^52) are allowed")
            elif not 1 <= floor <= MAX_FLOOR:
                self.wrong(f"floors.{counter}", floor, f"is out of range; 1 to {MAX_FLOOR} (2^52) are allowed")
        return floors

    def origins(self) -> tuple[str, ...]:
        how = 'pulumi config set --path "corsOrigins[0]" https://shop.example'
        origins = self._strings("corsOrigins", (), how, may_be_empty=True)
        for origin in dict.fromkeys(origins):
            if not ORIGIN.fullmatch(origin):
                self.wrong("corsOrigins", origin, "is not an origin like https://shop.example, nor *")
        self._check_repeats("corsOrigins", origins)
        return origins

    def one_of(self, key: str, allowed: tuple[str, ...], *, default: str) -> str:
        value = self.raw(key)
        if value is None:
            return default
        if value not in allowed:
            self.wrong(key, value, f"is none of {' or '.join(allowed)}")
        return value

    def integer(self, key: str, low: int, high: int, *, default: int, only: tuple[int, ...] = ()) -> int:
        value = self.raw(key)
        if value is None:
            return default
        if not re.fullmatch(r"-?[0-9]{1,18}", value):
            allowed = f"one of {', '.join(map(str, only))} is" if only else f"{low} to {high} are"
            self.wrong(key, value, f"is not an integer; {allowed} allowed")
            return default
        number = int(value)
        if only and number not in only:
            self.wrong(key, number, f"is not allowed; one of {', '.join(map(str, only))} is")
        elif not low <= number <= high:
            self.wrong(key, number, f"is out of range; {low} to {high} are allowed")
        return number

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None:
            return default
        if value not in ("true", "false"):
            self.wrong(key, value, "is neither true nor false")
        return value == "true"

    def check_names(self, stack: str, regions: Iterable[str], roles: Iterable[str]) -> None:
        longest = max((len(region) for region in regions), default=0) + max(map(len, roles))
        room = LONGEST_NAME - len(f"{self.project}---") - longest
        if len(stack) > room:
            self.errors.append(
                f"stack: the name {stack!r} has {len(stack)} characters; with these regions at most {room} are "
                "possible, since IAM limits a role's name to 64: pulumi stack rename"
            )

    def finish(self) -> None:
        for key in sorted(_configured_keys(self.project) - self.known):
            hint = _did_you_mean(key, self.known) or f"; known are {', '.join(sorted(self.known))}"
            self.errors.append(f"{key}: there is no such setting{hint}")
        if self.errors:
            raise SettingsError("\n".join(["the stack's settings are wrong:", *(f"  {line}" for line in self.errors)]))

    def _strings(
        self, key: str, default: tuple[str, ...] | None, how: str, *, may_be_empty: bool = False
    ) -> tuple[str, ...]:
        value = self.raw(key)
        if value is None and default is not None:
            return default
        if value is None:
            self.errors.append(f"{key}: not set; at least one is needed: {how}")
            return ()
        parsed = _parsed(value or "")
        if not isinstance(parsed, list) or not all(isinstance(entry, str) for entry in cast("list[Any]", parsed)):
            self.wrong(key, value, f"is not a list of strings: {how}")
            return ()
        if not parsed and not may_be_empty:
            self.errors.append(f"{key}: the list is empty; at least one is needed: {how}")
        return tuple(cast("list[str]", parsed))

    def _check_region(self, key: str, region: str) -> None:
        if _partition_of(region) is None:
            hint = _did_you_mean(region, partitions())
            self.wrong(key, region, f"is not an AWS region{hint or '; see aws account list-regions'}")

    def _check_repeats(self, key: str, values: tuple[str, ...]) -> None:
        for value in dict.fromkeys(values):
            if values.count(value) > 1:
                self.wrong(key, value, f"is listed {values.count(value)} times; each may be listed once")


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return None


def _did_you_mean(value: str, known: Iterable[str]) -> str:
    close = get_close_matches(value, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _configured_keys(project: str) -> set[str]:
    """The keys in the project's namespace, as the engine (or a test) handed them over."""
    keys = {*CONFIG.get(), *get_config_env()}
    return {key.removeprefix(f"{project}:") for key in keys if key.startswith(f"{project}:")}


@cache
def partitions() -> dict[str, str]:
    """Every region that has Lambda, with its partition: from botocore's own data, without network."""
    session = boto3.Session()
    return {
        region: partition
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("lambda", partition)
    }


def _partition_of(region: str) -> str | None:
    return partitions().get(region)
