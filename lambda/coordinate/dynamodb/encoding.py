"""The record, registers, copies and items as DynamoDB attributes, and back."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from sys import intern
from typing import Any, TypeVar
from uuid import UUID

from global_integers_core.lattice import MAX_REGIONS
from global_integers_core.names import camel
from global_integers_core.records import ADMITTED_KEY, RECORD_KEY, last_past_issued, regions_attribute, regions_of

from ..protocol.model import (
    Absent,
    Admitted,
    Claim,
    Copy,
    DeploymentRecord,
    DesiredState,
    Item,
    Register,
    desired_state_of,
)

Attributes = dict[str, Any]

T = TypeVar("T")


Kind = tuple[Callable[[Any], dict[str, Any]], Callable[[Any], Any]]
"""How values of one type are encoded, and decoded."""


SHORT = "="
"""What a UUID begins with in base64. No other id does."""


@cache
def stored_id(id_: str) -> str:
    """Return a table's id as a register has it. A UUID takes two thirds: every run reads up to thirty a counter."""
    if not re.fullmatch("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", id_):
        return id_
    return SHORT + b64encode(UUID(id_).bytes).decode().rstrip("=")


@cache
def _id_of(stored: str) -> str:
    short = stored.startswith(SHORT) and len(stored) == len(SHORT) + 22
    return str(UUID(bytes=b64decode(stored[1:] + "=="))) if short else stored


KINDS: dict[Any, Kind] = {
    str: (lambda text: {"S": text}, lambda found: intern(found["S"])),
    int: (lambda number: {"N": str(number)}, lambda found: int(found["N"])),
    bool: (lambda flag: {"BOOL": flag}, lambda found: found["BOOL"]),
    tuple[str, ...]: (regions_attribute, regions_of),
    tuple[str | None, ...]: (
        lambda ids: {"L": [{"NULL": True} if id_ is None else {"S": stored_id(id_)} for id_ in ids]},
        lambda found: tuple(None if "NULL" in id_ else _id_of(id_["S"]) for id_ in found["L"]),
    ),
    DesiredState: (lambda desired: {"S": desired.text}, lambda found: desired_state_of(found["S"])),
}

STORED: dict[type, str | None] = {
    DeploymentRecord: RECORD_KEY,
    **dict.fromkeys((Admitted, Claim), ADMITTED_KEY),
    Register: None,
}
"""What is stored field by field, and its key; a register has its own. An attribute has its field's name, in camel
case."""


SCHEMAS: dict[type, list[tuple[str, str, Kind]]] = {
    stored: [(name, camel(name), KINDS[kind]) for name, kind in stored.__annotations__.items()] for stored in STORED
}
"""Each field, its attribute, and how its values are encoded."""

DEFAULTS: dict[type, Mapping[str, Any]] = {
    **{each: {} for each in (DeploymentRecord, Admitted)},
    Register: {each.name: 0 for each in fields(Register) if each.default == 0},
    Claim: Claim._field_defaults,
}
"""What a field has if it isn't stored: every run reads the registers of ten thousand counters."""

REGISTER_NAMES = tuple(attribute for _, attribute, _ in SCHEMAS[Register])
"""The attributes of a register."""


def attributes_of(stored: DeploymentRecord | Admitted | Claim | Register | Copy[Any]) -> Attributes:
    """Encode what a table of the home region has, with its key."""
    if isinstance(stored, Copy):
        return {**attributes_of(stored.original), "mirrorId": {"S": stored.mirror_id}}
    key, schema, defaults = STORED[type(stored)], SCHEMAS[type(stored)], DEFAULTS[type(stored)]
    attributes = {
        name: encode(value)
        for field, name, (encode, _) in schema
        if (value := getattr(stored, field)) != defaults.get(field, MISSING)
    }
    return attributes if key is None else {"counter": {"S": key}, **attributes}


def _decoded(stored: type[T], attributes: Mapping[str, Any]) -> T:
    schema, optional = SCHEMAS[stored], DEFAULTS[stored]
    return stored(**{f: decode(attributes[a]) for f, a, (_, decode) in schema if a in attributes or f not in optional})


def record_of(attributes: Mapping[str, Any]) -> DeploymentRecord:
    """Decode the record."""
    return _decoded(DeploymentRecord, attributes)


def admitted_of(attributes: Mapping[str, Any]) -> Admitted | Claim:
    """Decode what identifies the record, or the claim in its place."""
    return _decoded(Claim, attributes) if "home" in attributes else _decoded(Admitted, attributes)


def register_of(attributes: Mapping[str, Any]) -> Register:
    """Decode a register, or raise ValueError. Names that ten thousand registers have are kept once."""
    found = _decoded(Register, attributes)
    if not 0 <= len({*found.regions}) == len(found.regions) == len(found.ids) <= MAX_REGIONS or found.epoch < 1:
        raise ValueError(attributes)
    return found


def copy_of(decode: Callable[[Mapping[str, Any]], T]) -> Callable[[Mapping[str, Any]], Copy[T]]:
    """Return what decodes the copy of what `decode` decodes."""
    return lambda attributes: Copy(decode(attributes), intern(attributes["mirrorId"]["S"]))


def item_values(item: Item) -> Attributes:
    """Encode an item, without its key. Conditions test whether `fenced` and `held` exist."""
    numbers = ("issued", "stride", "ceiling", "epoch", "low")
    attributes: Attributes = {name: {"N": str(getattr(item, name))} for name in numbers}
    if item.fenced:
        attributes["fenced"] = {"BOOL": True}
    if item.held:
        attributes["held"] = {"S": item.held}
    if item.past is not None:
        attributes["pastEpoch"], attributes["pastIssued"] = ({"N": str(number)} for number in item.past)
    return attributes


def item_of(attributes: Mapping[str, Any]) -> Item:
    """Decode an item, or raise ValueError."""
    if int(attributes["stride"]["N"]) < 1 or int(attributes["epoch"]["N"]) < 1:
        raise ValueError(attributes)
    return Item(
        issued=int(attributes["issued"]["N"]),
        stride=int(attributes["stride"]["N"]),
        ceiling=int(attributes["ceiling"]["N"]),
        epoch=int(attributes["epoch"]["N"]),
        fenced="fenced" in attributes,
        held=attributes["held"]["S"] if "held" in attributes else "",
        past=last_past_issued(attributes),
    )


ITEM_NAMES = ("counter", "issued", "stride", "ceiling", "epoch", "fenced", "held", "pastEpoch", "pastIssued")
"""The attributes that `item_of` reads, and the key."""


def decoded(decode: Callable[[Mapping[str, Any]], T], attributes: Mapping[str, Any]) -> T | Absent:
    """Return what attributes encode, or `Absent.STRAY` if they encode nothing."""
    try:
        return decode(attributes)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return Absent.STRAY
