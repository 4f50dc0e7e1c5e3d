"""Random worlds and operations, from so few values that the conditions often hold and often fail.

A new operation is drawn as soon as it is in `coordinate.operations.Operation`; a field of a new name needs
its values in `FIELDS`.
"""

from dataclasses import fields, replace
from typing import Any, get_args

from coordinate.model import Item, Next, Register
from coordinate.operations import Operation, PlaceItem, RenewItem
from hypothesis import strategies as st

from integers.layouts import Layout
from simulation.world import Table, World
from tests.lambda_.laying_out import HOME

REGIONS = (HOME, "eu-west-1")
ORDERS = (REGIONS, REGIONS[::-1])
COUNTER = "c"

Step = tuple[str, Any]
"""The name of a method that the world and the tables both have, and its argument."""

_REGISTER = Register(COUNTER, 2, REGIONS, base=10, born="one")

REGISTERS = [
    _REGISTER,
    replace(_REGISTER, epoch=3),
    replace(_REGISTER, regions=ORDERS[1]),
    replace(_REGISTER, base=11),
    replace(_REGISTER, born="two"),
    replace(_REGISTER, opened=True),
    replace(_REGISTER, next=Next(REGIONS)),
    replace(_REGISTER, next=Next(REGIONS, floor=12)),
    replace(_REGISTER, past=(Layout(1, 1, REGIONS),)),
]
"""Each differs from the first in one field."""

_REGISTERS = st.sampled_from([*[_REGISTER] * 6, *REGISTERS])  # so that `old` is often the one that is there

LAYOUTS = [tuple(Layout(epoch, 10 * epoch, REGIONS) for epoch in range(1, last + 1)) for last in (1, 2, 3)]

_EPOCHS = st.sampled_from([1, 2])
_TOKENS = st.sampled_from(["one's", "two's"])
_ITEM = {
    "issued": st.sampled_from([-1, 2, 5]),
    "stride": st.sampled_from([1, 3]),
    "ceiling": st.sampled_from([1, 4, 20]),
    "epoch": _EPOCHS,
}

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "counter": st.just(COUNTER),
    "region": st.sampled_from(REGIONS),
    "register": _REGISTERS,
    "old": _REGISTERS,
    "new": _REGISTERS,
    "standing": st.sampled_from([ORDERS[0], ORDERS[0], ORDERS[1], None]),
    "over": _EPOCHS,
    "layouts": st.sampled_from(LAYOUTS),
    "instead_of": st.none() | _TOKENS,
    "token": _TOKENS,
    "ceiling": _ITEM["ceiling"],
    "epoch": _EPOCHS,
}

_OPEN = st.builds(Item, **_ITEM, fenced=st.sampled_from([False, False, True]))
_OPENING = st.builds(Item, **_ITEM, fenced=st.just(True), opening=_TOKENS)

ITEMS: dict[type, st.SearchStrategy[Item]] = {
    # In epoch 44, what was issued in the first ones is forgotten.
    RenewItem: st.builds(Item, **{**_ITEM, "epoch": st.sampled_from([2, 44])}),
    PlaceItem: _OPENING,
}
"""The items that an operation may write: one that may mint, or one that is being opened."""


def _drawn(kind: type[Any]) -> st.SearchStrategy[Any]:
    values = {field.name: ITEMS[kind] if field.name == "item" else FIELDS[field.name] for field in fields(kind)}
    return st.builds(kind, **values)


def _possible(operation: Operation) -> bool:
    """An item is renewed by one of a later epoch only."""
    return not isinstance(operation, RenewItem) or operation.over < operation.item.epoch


_READS = [kind for kind in get_args(Operation) if kind.__name__.startswith("Read")]
WRITES = [kind for kind in get_args(Operation) if kind not in _READS]

OPERATIONS: st.SearchStrategy[Operation] = st.sampled_from([*WRITES * 3, *_READS]).flatmap(_drawn).filter(_possible)

_STEP = {
    "carry_out": OPERATIONS,
    "mint": FIELDS["region"],
    "stand": st.sampled_from([ORDERS[0], *ORDERS]),
    "make_table": FIELDS["region"],
    "delete_table": FIELDS["region"],
}
_OFTEN = ["carry_out"] * 32 + ["mint"] * 4 + ["stand"] * 2 + ["make_table"] + ["delete_table"]

STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from(_OFTEN).flatmap(lambda name: st.tuples(st.just(name), _STEP[name])), min_size=25, max_size=40
)

_TABLES = st.builds(
    Table,
    item=_OPEN | _OPEN | _OPEN | _OPENING,
    issued_in=st.sampled_from([{}, {1: 7}]).map(dict),
    layouts=st.sampled_from([(), *LAYOUTS]),
).filter(lambda table: table.item is not None and all(epoch < table.item.epoch for epoch in table.issued_in))

WORLDS = st.builds(
    World,
    without=st.none(),
    standing=FIELDS["standing"],
    register=st.none() | _REGISTERS,
    tables=st.fixed_dictionaries(dict.fromkeys(REGIONS, _TABLES | _TABLES | st.builds(Table))),
)
"""What there may be at the start, so that few steps reach much."""
