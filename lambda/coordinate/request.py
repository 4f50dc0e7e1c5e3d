"""Reads what the coordinator is asked for, and checks it before anything is written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from integers.lattice import MAX_FLOOR, MAX_REGIONS
from integers.names import CHECK_COUNTER, COUNTER_NAME, RESERVED, reserved

from .protocol.model import Deploy, Refused, desired_state_of

KEYS = ("asked", "check", "create", "follows", "watch", "wish")
CHECK_KEYS = ("counter", "digest", "region", "version")
WISH_KEYS = (
    "counters", "first", "floors", "headroom", "home", "leaving", "regions", "tables", "watchMinutes", "window",
)  # fmt: skip


@dataclass(frozen=True)
class Create:
    """Counters that must exist, in the regions of the last deployment."""

    counters: tuple[str, ...]


@dataclass(frozen=True)
class Watch:
    """The schedule's run: carry out what was admitted, and repair what has changed since."""


@dataclass(frozen=True)
class Check:
    """A region whose minting function must work: mint the default counter, by the code of this version."""

    region: str
    counter: str
    version: str


def request_of(event: Mapping[str, Any]) -> Deploy | Create | Watch | Check:
    """Read an event of a deployment, of the schedule, or of an operator who creates counters.

    A deployment sends `{"check": {"region": "us-east-1", "counter": "integers", "version": "...", "digest": "..."}}`
    after an update and `{"wish": {...}, "follows": 3, "asked": 1795000000}` at its end, the schedule
    `{"watch": true}`, an operator `{"create": ["invoices", ...]}`.

    Raises:
        Refused: the event is none of these, a key is misspelt, or a value is wrong.
    """
    _check_keys(event, KEYS, "")
    asked = [key for key in ("wish", "watch", "create", "check") if key in event]
    if len(asked) != 1:
        raise Refused(
            f"the event has {' and '.join(asked) or 'neither wish nor watch nor create'}; it must have one of them. "
            'To create counters, send {"create": ["invoices"]}; to let the coordinator check and repair everything, '
            'send {"watch": true}. Only a deployment sends a wish.'
        )
    if "create" in event:
        created = _counters(event, "create")
        for counter in RESERVED.intersection(created):
            raise Refused(f"create: {reserved(counter)}.")
        return Create(created)
    if "check" in event:
        return _check(event["check"])
    if "watch" in event:
        if event["watch"] is not True:
            raise Refused(f"watch: {event['watch']!r} is not true.")
        return Watch()
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
    desired: Any = event["wish"]
    if not isinstance(desired, dict):
        raise Refused(f"wish: {desired!r} is not an object.")
    desired = cast("dict[str, Any]", desired)
    _check_keys(desired, WISH_KEYS, "wish.")
    missing = [key for key in WISH_KEYS if key not in desired]
    if missing:
        raise Refused(f"wish: there is no {', '.join(missing)}.")
    regions = _names(desired, "regions")
    leaving = _names(desired, "leaving", least=0)
    if len(set(regions)) != len(regions) or len(regions) > MAX_REGIONS:
        raise Refused(f"regions: {list(regions)} is not a list of 1 to {MAX_REGIONS} different regions.")
    if set(regions) & set(leaving):
        raise Refused(f"leaving: {', '.join(sorted(set(regions) & set(leaving)))} can't be in regions too.")
    _counters(desired, "counters", also=CHECK_COUNTER)
    _check_floors(desired["floors"])
    for key, most in (("window", 10**12), ("headroom", 10**6), ("watchMinutes", 60)):
        _integer(desired, key, least=1, most=most)
    text = json.dumps(desired, sort_keys=True, separators=(",", ":"))
    return Deploy(desired_state_of(text), _integer(event, "follows"), _integer(event, "asked"))


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
