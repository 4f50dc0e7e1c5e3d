"""Reads what the coordinator is asked for, and checks it before anything is written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from global_integers_core.lattice import MAX_FLOOR, MAX_REGIONS
from global_integers_core.names import CHECK_COUNTER, COUNTER_NAME, RESERVED, reserved

from .protocol.model import Deploy, Refused, desired_state_of

KEYS = ("check", "create", "desired", "follows", "requested", "schedule")
CHECK_KEYS = ("counter", "digest", "region", "version")
DESIRED_KEYS = (
    "counters", "firstLayoutsLabel", "floors", "headroom", "layoutsLabel", "leaving", "regions", "scheduleMinutes",
    "tableLabels", "window",
)  # fmt: skip


@dataclass(frozen=True)
class Create:
    """Counters that must exist, in the regions of the last deployment."""

    counters: tuple[str, ...]


@dataclass(frozen=True)
class ScheduledRun:
    """A scheduled run: carry out what was admitted, and repair what has changed since."""


@dataclass(frozen=True)
class Check:
    """A region whose minting function must work: mint the default counter, by the code of this version."""

    region: str
    counter: str
    version: str


def request_of(event: Mapping[str, Any]) -> Deploy | Create | ScheduledRun | Check:
    """Read an event of a deployment, of the schedule, or of an operator who creates counters.

    A deployment sends `{"check": {"region": "us-east-1", "counter": "integers", "version": "...", "digest": "..."}}`
    after an update and `{"desired": {...}, "follows": 3, "requested": 1795000000}` at its end, the schedule
    `{"schedule": true}`, an operator `{"create": ["invoices", ...]}`.

    Raises:
        Refused: the event is none of these, a key is misspelt, or a value is wrong.
    """
    _check_keys(event, KEYS, "")
    asked = [key for key in ("desired", "schedule", "create", "check") if key in event]
    if len(asked) != 1:
        raise Refused(
            f"the event has {' and '.join(asked) or 'neither desired nor schedule nor create'}; it must have one. "
            'To create counters, send {"create": ["invoices"]}; to let the coordinator check and repair everything, '
            'send {"schedule": true}. Only a deployment sends a desired state.'
        )
    if "create" in event:
        created = _counters(event, "create")
        for counter in RESERVED.intersection(created):
            raise Refused(f"create: {reserved(counter)}.")
        return Create(created)
    if "check" in event:
        return _check(event["check"])
    if "schedule" in event:
        if event["schedule"] is not True:
            raise Refused(f"schedule: {event['schedule']!r} is not true.")
        return ScheduledRun()
    return _deployment(event)


def _check(asked: Any) -> Check:
    """Read what is to be checked. The digest isn't read: it makes another event when the function has changed."""
    if not isinstance(asked, dict):
        raise Refused(f"check: {asked!r} is not an object.")
    asked = cast("dict[str, Any]", asked)
    _check_keys(asked, CHECK_KEYS, "check.")
    region, counter = asked.get("region"), asked.get("counter")
    if not isinstance(region, str) or not region:
        raise Refused(f"check.region: {region!r} is not a region.")
    if not isinstance(counter, str) or not COUNTER_NAME.fullmatch(counter):
        raise Refused(f"check.counter: {counter!r} is not a counter's name; it must match {COUNTER_NAME.pattern}.")
    return Check(region, counter, str(asked.get("version")))


def _deployment(event: Mapping[str, Any]) -> Deploy:
    desired: Any = event["desired"]
    if not isinstance(desired, dict):
        raise Refused(f"desired: {desired!r} is not an object.")
    desired = cast("dict[str, Any]", desired)
    _check_keys(desired, DESIRED_KEYS, "desired.")
    missing = [key for key in DESIRED_KEYS if key not in desired]
    if missing:
        raise Refused(f"desired: there is no {', '.join(missing)}.")
    regions = _names(desired, "regions")
    leaving = _names(desired, "leaving", least=0)
    if len(set(regions)) != len(regions) or len(regions) > MAX_REGIONS:
        raise Refused(f"regions: {list(regions)} is not a list of 1 to {MAX_REGIONS} different regions.")
    if set(regions) & set(leaving):
        raise Refused(f"leaving: {', '.join(sorted(set(regions) & set(leaving)))} can't be in regions too.")
    _counters(desired, "counters", also=CHECK_COUNTER)
    _check_floors(desired["floors"])
    for key, most in (("window", 10**12), ("headroom", 10**6), ("scheduleMinutes", 60)):
        _integer(desired, key, least=1, most=most)
    text = json.dumps(desired, sort_keys=True, separators=(",", ":"))
    return Deploy(desired_state_of(text), _integer(event, "follows"), _integer(event, "requested"))


def _check_keys(event: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in event:
        near = get_close_matches(key, keys, n=1) if key not in keys else []
        if near:
            raise Refused(f"{where}{key}: there is no such key; did you mean {near[0]}?")


def _counters(event: Mapping[str, Any], key: str, also: str = "") -> tuple[str, ...]:
    counters = _names(event, key)
    for counter in counters:
        if counter != also and not COUNTER_NAME.fullmatch(counter):
            raise Refused(f"{key}: {counter!r} is not a counter's name; it must match {COUNTER_NAME.pattern}.")
    return tuple(dict.fromkeys(counters))


def _names(event: Mapping[str, Any], key: str, least: int = 1) -> tuple[str, ...]:
    names: Any = event.get(key)
    found = cast("list[Any]", names) if isinstance(names, list) else None
    if found is None or len(found) < least or not all(isinstance(name, str) for name in found):
        raise Refused(f"{key}: {names!r} is not a list of names.")
    return tuple(found)


def _integer(event: Mapping[str, Any], key: str, least: int = 0, most: int = 2**53) -> int:
    value: Any = event.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused(f"{key}: {value!r} is not an integer from {least} to {most}.")
    return value


def _check_floors(floors: Any) -> None:
    if not isinstance(floors, dict):
        raise Refused(f"floors: {floors!r} is not an object of counters and integers.")
    for counter, floor in cast("dict[str, Any]", floors).items():
        if not isinstance(floor, int) or isinstance(floor, bool) or not 1 <= floor <= MAX_FLOOR:
            raise Refused(f"floors: {counter}: {floor!r} is not an integer from 1 to {MAX_FLOOR} (2^52).")
