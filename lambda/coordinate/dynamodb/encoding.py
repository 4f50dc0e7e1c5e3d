"""The record, registers, copies and items as DynamoDB attributes, and back."""

from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, TypeVar

from global_integers_core.lattice import MAX_REGIONS
from global_integers_core.records import (
    ADMITTED_KEY,
    RECORD_KEY,
    last_past_issued,
    regions_attribute,
    regions_of,
)

from ..protocol.model import (
    Absent,
    Admitted,
    Copy,
    DeploymentRecord,
    Item,
    Register,
    desired_state_of,
)

Attributes = dict[str, Any]

NOT_COMPARED = frozenset({"counter"})
"""Attributes that a write doesn't compare: the key."""

T = TypeVar("T")


def attributes_of(
    stored: DeploymentRecord | Admitted | Register | Copy[DeploymentRecord] | Copy[Register],
) -> Attributes:
    """Encode what a table of the home region has, with its key."""
    match stored:
        case Copy(original, mirror_id):
            return {**attributes_of(original), "mirrorId": {"S": mirror_id}}
        case Admitted(layouts_id, token):
            return {"counter": {"S": ADMITTED_KEY}, "layoutsId": {"S": layouts_id}, "token": {"S": token}}
        case DeploymentRecord():
            return {
                "counter": {"S": RECORD_KEY},
                "layoutsId": {"S": stored.layouts_id},
                "token": {"S": stored.token},
                "number": {"N": str(stored.number)},
                "follows": {"S": stored.follows},
                "requested": {"N": str(stored.requested)},
                "desired": {"S": stored.desired.text},
                "reconciled": {"BOOL": stored.reconciled},
                "report": {"S": stored.report},
                "restored": {"BOOL": stored.restored},
                "answered": {"S": stored.answered},
                "above": {"N": str(stored.above)},
                "firstEpoch": {"N": str(stored.first_epoch)},
                "firstBase": {"N": str(stored.first_base)},
            }
        case Register():
            return {
                "counter": {"S": stored.counter},
                "layoutsId": {"S": stored.layouts_id},
                "epoch": {"N": str(stored.epoch)},
                "regions": regions_attribute(stored.regions),
                "ids": {"L": [{"NULL": True} if id_ is None else {"S": id_} for id_ in stored.ids]},
                "base": {"N": str(stored.base)},
                "limit": {"N": str(stored.limit)},
                "window": {"N": str(stored.window)},
                "granted": {"N": str(stored.granted)},
                "preceding": {"N": str(stored.preceding)},
                "lost": {"S": stored.lost},
            }


def record_of(attributes: Mapping[str, Any]) -> DeploymentRecord:
    """Decode the record."""
    return DeploymentRecord(
        layouts_id=attributes["layoutsId"]["S"],
        token=attributes["token"]["S"],
        number=int(attributes["number"]["N"]),
        follows=attributes["follows"]["S"],
        requested=int(attributes["requested"]["N"]),
        desired=desired_state_of(attributes["desired"]["S"]),
        reconciled=attributes["reconciled"]["BOOL"],
        report=attributes["report"]["S"],
        restored=attributes["restored"]["BOOL"],
        answered=attributes["answered"]["S"],
        above=int(attributes["above"]["N"]),
        first_epoch=int(attributes["firstEpoch"]["N"]),
        first_base=int(attributes["firstBase"]["N"]),
    )


def admitted_of(attributes: Mapping[str, Any]) -> Admitted:
    """Decode what identifies the record."""
    return Admitted(attributes["layoutsId"]["S"], attributes["token"]["S"])


REGISTER_NAMES = (
    "counter", "layoutsId", "epoch", "regions", "ids", "base", "limit", "window", "granted", "preceding", "lost"
)  # fmt: skip
"""The attributes of a register."""


def register_of(attributes: Mapping[str, Any]) -> Register:
    """Decode a register, or raise ValueError. Names that ten thousand registers have are kept once."""
    regions = regions_of(attributes["regions"])
    ids = tuple(None if "NULL" in id_ else intern(id_["S"]) for id_ in attributes["ids"]["L"])
    if not 0 <= len({*regions}) == len(regions) == len(ids) <= MAX_REGIONS or int(attributes["epoch"]["N"]) < 1:
        raise ValueError(attributes)
    return Register(
        counter=intern(attributes["counter"]["S"]),
        layouts_id=intern(attributes["layoutsId"]["S"]),
        epoch=int(attributes["epoch"]["N"]),
        regions=regions,
        ids=ids,
        base=int(attributes["base"]["N"]),
        limit=int(attributes["limit"]["N"]),
        window=int(attributes["window"]["N"]),
        granted=int(attributes["granted"]["N"]),
        preceding=int(attributes["preceding"]["N"]),
        lost=attributes["lost"]["S"],
    )


def copy_of(decode: Callable[[Mapping[str, Any]], T]) -> Callable[[Mapping[str, Any]], Copy[T]]:
    """Return what decodes the copy of what `decode` decodes."""
    return lambda attributes: Copy(decode(attributes), intern(attributes["mirrorId"]["S"]))


def item_values(item: Item) -> Attributes:
    """Encode an item, without its key. Conditions test whether `fenced` and `held` exist."""
    attributes: Attributes = {
        "issued": {"N": str(item.issued)},
        "stride": {"N": str(item.stride)},
        "ceiling": {"N": str(item.ceiling)},
        "epoch": {"N": str(item.epoch)},
    }
    if item.fenced:
        attributes["fenced"] = {"BOOL": True}
    if item.held:
        attributes["held"] = {"S": item.held}
    if item.table:
        attributes["table"] = {"S": item.table}
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
        table=intern(attributes["table"]["S"]) if "table" in attributes else "",
        past=last_past_issued(attributes),
    )


ITEM_NAMES = (
    "counter", "issued", "stride", "ceiling", "epoch", "fenced", "held", "table", "pastEpoch", "pastIssued"
)  # fmt: skip
"""The attributes that `item_of` reads, and the key."""


def decoded(decode: Callable[[Mapping[str, Any]], T], attributes: Mapping[str, Any]) -> T | Absent:
    """Return what attributes encode, or `Absent.STRAY` if they encode nothing."""
    try:
        return decode(attributes)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return Absent.STRAY
