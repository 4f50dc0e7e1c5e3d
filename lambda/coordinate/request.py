"""Reads what the coordinator is asked for, and checks it before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

from integers.lattice import MAX_FLOOR, MAX_REGIONS
from integers.names import COUNTER_NAME

from .model import Refused

KEYS = ("create", "regions", "counters", "floors")


@dataclass(frozen=True)
class Request:
    """What an event asks for. If `regions` is None: create the counters in the regions of the last deployment."""

    counters: tuple[str, ...]
    regions: tuple[str, ...] | None = None
    floors: Mapping[str, int] = field(default_factory=dict[str, int])


def request_of(event: Mapping[str, Any]) -> Request:
    """Read an event: a deployment's, or an operator's who creates counters.

    A deployment sends `{"regions": [...], "counters": [...], "floors": {counter: integer}}`. The floors are
    optional. Terraform adds `tf`; `tables` only makes the event change when a table is recreated. An operator
    sends `{"create": ["invoices", ...]}`.

    Raises:
        Refused: the event is neither, a key is misspelt, or a name or a floor is wrong.
    """
    _check_keys(event)
    if "create" in event:
        beside = [key for key in KEYS if key != "create" and key in event]
        if beside:
            raise Refused(f"create: only a deployment can send {' and '.join(beside)}.")
        return Request(_counters(event, "create"))
    if "regions" not in event:
        raise Refused(
            'the event has neither "create" nor "regions". To create counters, send {"create": ["invoices"]}. '
            'A deployment sends {"regions": [...], "counters": [...], "floors": {...}}.'
        )
    regions = _names(event, "regions")
    if len(set(regions)) != len(regions) or len(regions) > MAX_REGIONS:
        raise Refused(f"regions: {list(regions)} is not a list of 1 to {MAX_REGIONS} different regions.")
    return Request(_counters(event, "counters"), regions, _floors(event))


def _check_keys(event: Mapping[str, Any]) -> None:
    for key in event:
        near = get_close_matches(key, KEYS, n=1) if key not in (*KEYS, "tables", "tf") else []
        if near:
            raise Refused(f"{key}: there is no such key; did you mean {near[0]}?")


def _counters(event: Mapping[str, Any], key: str) -> tuple[str, ...]:
    counters = _names(event, key)
    for counter in counters:
        if not COUNTER_NAME.fullmatch(counter):
            raise Refused(f"{key}: {counter!r} is not a counter's name; it must match {COUNTER_NAME.pattern}.")
    return tuple(dict.fromkeys(counters))


def _names(event: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names: Any = event.get(key)
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in cast("list[Any]", names)):
        raise Refused(f"{key}: {names!r} is not a list of names.")
    return tuple(cast("list[str]", names))


def _floors(event: Mapping[str, Any]) -> dict[str, int]:
    floors: Any = event.get("floors") or {}
    if not isinstance(floors, dict):
        raise Refused(f"floors: {floors!r} is not an object of counters and integers.")
    for counter, floor in cast("dict[str, Any]", floors).items():
        if not isinstance(floor, int) or isinstance(floor, bool) or not 1 <= floor <= MAX_FLOOR:
            raise Refused(f"floors: {counter}: {floor!r} is not an integer from 1 to {MAX_FLOOR} (2^52).")
    return cast("dict[str, int]", floors)
