"""Registers and items as DynamoDB attributes, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from .model import Item, Layout, Next, Register

Attributes = dict[str, Any]


def register_attributes(register: Register) -> Attributes:
    attributes: Attributes = {
        "counter": {"S": register.counter},
        "epoch": {"N": str(register.epoch)},
        "regions": _list(register.regions),
        "base": {"N": str(register.base)},
        "born": {"S": register.born},
        "opened": {"BOOL": register.opened},
    }
    if register.next is not None:
        following = {"regions": _list(register.next.regions), "floor": {"N": str(register.next.floor)}}
        attributes["next"] = {"M": following}
    if register.past:
        attributes["past"] = layouts_attribute(register.past)
    return attributes


def register_of(attributes: Mapping[str, Any]) -> Register:
    following = attributes.get("next")
    return Register(
        counter=attributes["counter"]["S"],
        epoch=int(attributes["epoch"]["N"]),
        regions=_tuple(attributes["regions"]),
        base=int(attributes["base"]["N"]),
        born=attributes["born"]["S"],
        opened=attributes["opened"]["BOOL"],
        next=Next(_tuple(following["M"]["regions"]), int(following["M"]["floor"]["N"])) if following else None,
        past=_layouts_of(attributes["past"]) if "past" in attributes else (),
    )


def layouts_attribute(layouts: Sequence[Layout]) -> Attributes:
    """A list of `{epoch, base, regions}`, the oldest first. The minting function reads it too."""
    return {
        "L": [
            {
                "M": {
                    "epoch": {"N": str(layout.epoch)},
                    "base": {"N": str(layout.base)},
                    "regions": _list(layout.regions),
                }
            }
            for layout in layouts
        ]
    }


def _layouts_of(attribute: Mapping[str, Any]) -> tuple[Layout, ...]:
    return tuple(
        Layout(int(entry["M"]["epoch"]["N"]), int(entry["M"]["base"]["N"]), _tuple(entry["M"]["regions"]))
        for entry in attribute["L"]
    )


def item_values(item: Item) -> Attributes:
    """All but the key. `fenced` and `opening` are there only when they are so: conditions ask for that."""
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
    return Item(
        issued=int(attributes["issued"]["N"]),
        stride=int(attributes["stride"]["N"]),
        ceiling=int(attributes["ceiling"]["N"]),
        epoch=int(attributes["epoch"]["N"]),
        fenced=attributes.get("fenced", {}).get("BOOL", False),
        opening=attributes.get("opening", {}).get("S"),
    )


def _list(regions: tuple[str, ...]) -> Attributes:
    return {"L": [{"S": region} for region in regions]}


def _tuple(attribute: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(region["S"] for region in attribute["L"])
