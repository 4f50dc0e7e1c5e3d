"""The record, registers, copies and items as DynamoDB attributes, and back."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from integers.lattice import MAX_INTEGER
from integers.records import RECORD_KEY, layouts_attribute, layouts_of, regions_attribute, regions_of

from .model import Copy, Item, Record, RecordCopy, Register, Wish

Attributes = dict[str, Any]

NOT_COMPARED = frozenset({"counter", "past"})
"""Attributes that a write doesn't compare: the key, and what the others determine."""


@lru_cache(maxsize=4)
def wish_of(text: str) -> Wish:
    """Return the wish that this text encodes. Every round of every counter reads the same."""
    wish: dict[str, Any] = json.loads(text)
    return Wish(
        regions=tuple(wish["regions"]),
        leaving=tuple(wish["leaving"]),
        counters=tuple(wish["counters"]),
        floors=cast("dict[str, int]", wish["floors"]),
        window=wish["window"],
        headroom=wish["headroom"],
        watch_minutes=wish["watchMinutes"],
        home=wish["home"],
        first=wish["first"],
        text=text,
    )


def record_attributes(record: Record) -> Attributes:
    """Return the record as it is stored in the layouts table."""
    return {
        "counter": {"S": RECORD_KEY},
        "home": {"S": record.home},
        "number": {"N": str(record.number)},
        "follows": {"N": str(record.follows)},
        "asked": {"N": str(record.asked)},
        "wish": {"S": record.wish.text},
        "settled": {"BOOL": record.settled},
        "report": {"S": record.report},
        "restored": {"BOOL": record.restored},
    }


def record_of(attributes: Mapping[str, Any]) -> Record:
    """Return the record that `record_attributes` encoded."""
    return Record(
        home=attributes["home"]["S"],
        number=int(attributes["number"]["N"]),
        follows=int(attributes["follows"]["N"]),
        asked=int(attributes["asked"]["N"]),
        wish=wish_of(attributes["wish"]["S"]),
        settled=attributes["settled"]["BOOL"],
        report=attributes["report"]["S"],
        restored=attributes["restored"]["BOOL"],
    )


def record_copy_attributes(copy: RecordCopy) -> Attributes:
    """Return the record's copy as it is stored in the mirror."""
    return {**record_attributes(copy.record), "mirror": {"S": copy.mirror}}


def record_copy_of(attributes: Mapping[str, Any]) -> RecordCopy:
    """Return the copy that `record_copy_attributes` encoded."""
    return RecordCopy(record_of(attributes), attributes["mirror"]["S"])


def register_attributes(register: Register) -> Attributes:
    """Return a register as it is stored in the layouts table. One of version 1 is read only, and has no home."""
    attributes: Attributes = {
        "counter": {"S": register.counter},
        "epoch": {"N": str(register.epoch)},
        "regions": regions_attribute(register.regions),
        "base": {"N": str(register.base)},
    }
    if register.home:
        attributes |= {
            "home": {"S": register.home},
            "ids": {"L": [{"NULL": True} if id_ is None else {"S": id_} for id_ in register.ids]},
            "limit": {"N": str(register.limit)},
            "window": {"N": str(register.window)},
            "granted": {"N": str(register.granted)},
        }
    if register.past:
        attributes["past"] = layouts_attribute(register.past)
    return attributes


def register_of(attributes: Mapping[str, Any]) -> Register:
    """Return the register that `register_attributes` encoded, or one of version 1: without home, limit and ids."""
    regions = regions_of(attributes["regions"])
    ids: list[dict[str, Any]] = attributes["ids"]["L"] if "ids" in attributes else [{} for _ in regions]
    return Register(
        counter=attributes["counter"]["S"],
        home=attributes.get("home", {}).get("S", ""),
        epoch=int(attributes["epoch"]["N"]),
        regions=regions,
        ids=tuple(id_.get("S") for id_ in ids),
        base=int(attributes["base"]["N"]),
        limit=int(attributes["limit"]["N"]) if "limit" in attributes else _limit_of_version_1(attributes),
        window=int(attributes.get("window", {}).get("N", 0)),
        granted=int(attributes.get("granted", {}).get("N", 0)),
        past=layouts_of(attributes["past"]) if "past" in attributes else (),
    )


def _limit_of_version_1(attributes: Mapping[str, Any]) -> int:
    """Return the limit of an epoch without one: every integer, or none as long as not every region had its item."""
    return MAX_INTEGER if attributes.get("opened", {}).get("BOOL") else 0


def copy_attributes(copy: Copy) -> Attributes:
    """Return a register's copy as it is stored in the mirror."""
    return {**register_attributes(copy.register), "mirror": {"S": copy.mirror}}


def copy_of(attributes: Mapping[str, Any]) -> Copy:
    """Return the copy that `copy_attributes` encoded."""
    return Copy(register_of(attributes), attributes["mirror"]["S"])


def item_values(item: Item) -> Attributes:
    """Return an item's attributes, without its key.

    `fenced` and `opening` are stored only if they are set: conditions test whether they exist.
    """
    attributes: Attributes = {
        "issued": {"N": str(item.issued)},
        "stride": {"N": str(item.stride)},
        "ceiling": {"N": str(item.ceiling)},
        "epoch": {"N": str(item.epoch)},
    }
    if item.fenced:
        attributes["fenced"] = {"BOOL": True}
    if item.opening is not None:
        attributes["opening"] = {"S": item.opening}
    return attributes


def item_of(attributes: Mapping[str, Any]) -> Item:
    """Return the item that `item_values` encoded. What it keeps of past epochs is left out."""
    return Item(
        issued=int(attributes["issued"]["N"]),
        stride=int(attributes["stride"]["N"]),
        ceiling=int(attributes["ceiling"]["N"]),
        epoch=int(attributes["epoch"]["N"]),
        fenced=attributes.get("fenced", {}).get("BOOL", False),
        opening=attributes.get("opening", {}).get("S"),
    )
