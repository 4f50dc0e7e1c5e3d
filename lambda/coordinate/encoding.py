"""Registers and items as DynamoDB attributes, and back."""

from collections.abc import Mapping
from typing import Any

from integers.records import layouts_attribute, layouts_of, regions_attribute, regions_of

from .model import Item, Next, Register

Attributes = dict[str, Any]


def register_attributes(register: Register) -> Attributes:
    """Return a register as it is stored in the layouts table."""
    attributes: Attributes = {
        "counter": {"S": register.counter},
        "epoch": {"N": str(register.epoch)},
        "regions": regions_attribute(register.regions),
        "base": {"N": str(register.base)},
        "born": {"S": register.born},
        "opened": {"BOOL": register.opened},
    }
    if register.next is not None:
        following = {"regions": regions_attribute(register.next.regions), "floor": {"N": str(register.next.floor)}}
        attributes["next"] = {"M": following}
    if register.past:
        attributes["past"] = layouts_attribute(register.past)
    return attributes


def register_of(attributes: Mapping[str, Any]) -> Register:
    """Return the register that `register_attributes` encoded."""
    following = attributes.get("next")
    return Register(
        counter=attributes["counter"]["S"],
        epoch=int(attributes["epoch"]["N"]),
        regions=regions_of(attributes["regions"]),
        base=int(attributes["base"]["N"]),
        born=attributes["born"]["S"],
        opened=attributes["opened"]["BOOL"],
        next=Next(regions_of(following["M"]["regions"]), int(following["M"]["floor"]["N"])) if following else None,
        past=layouts_of(attributes["past"]) if "past" in attributes else (),
    )


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
