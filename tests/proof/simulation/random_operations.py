"""Random worlds and operations, from so few values that the conditions often hold and often fail.

A new operation is drawn as soon as it is in `coordinate.protocol.operations`; a field of a new name needs
its values in `FIELDS`.
"""

import json
from dataclasses import fields, replace
from typing import Any

from coordinate.protocol import operations
from coordinate.protocol.model import Copy, Deleted, Deletions, DeploymentRecord, Item, Register, desired_state_of
from coordinate.protocol.operations import (
    Clock,
    CloseItem,
    DeleteCopy,
    DeleteRegister,
    DescribeStream,
    MayBegin,
    Operation,
    PutItem,
    RenewItem,
    TakeRunLock,
    WriteCopy,
    WriteRecord,
    WriteRecordCopy,
    WriteRegister,
)
from hypothesis import strategies as st

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from proof.simulation.world import Archive, Layouts, Mirror, SimulatedReceipts, SimulatedTable, World
from tests.lambda_.coordinator_calls import HOME

REGIONS = (HOME, "eu-west-1")
ORDERS = (REGIONS, REGIONS[::-1])
COUNTER = "c"

Step = tuple[str, tuple[Any, ...]]
"""The name of a method that the world and the tables both have, and its arguments."""


def _desired(regions: tuple[str, ...]) -> Any:
    text = '"leaving":[],"counters":["c"],"floors":{},"window":10,"headroom":2,"scheduleMinutes":5,'
    text += '"layoutsLabel":"h","firstLayoutsLabel":"h","defaultCounter":"c","defaultChosen":false'
    return desired_state_of(f'{{"regions":{json.dumps(regions)},{text}}}')


_RECORD = DeploymentRecord("layouts 1", "one's", 2, "", 1_000, _desired(ORDERS[0]), "c")

RECORDS = [
    _RECORD,
    replace(_RECORD, layouts_id="layouts 2"),
    replace(_RECORD, token="two's"),
    replace(_RECORD, number=3),
    replace(_RECORD, follows="two's"),
    replace(_RECORD, requested=1_001),
    replace(_RECORD, desired=_desired(ORDERS[1])),
    replace(_RECORD, default_counter="d"),
    replace(_RECORD, default_before="d"),
    replace(_RECORD, reconciled=True),
    replace(_RECORD, report='{"counters":{}}'),
    replace(_RECORD, restored=True),
    replace(_RECORD, first_epoch=2),
    replace(_RECORD, first_base=2),
    *(
        replace(_RECORD, deletions=deletions)
        for deletions in (
            Deletions("archive 1"),
            Deletions("", Deleted(1, 0)),
            Deletions("", Deleted(0, 1)),
            Deletions("", lost=Deleted(1, 0)),
            Deletions("", lost=Deleted(0, 1)),
        )
    ),
]
"""Each differs from the first in one field, and so do the others below."""

_REGISTER = Register(COUNTER, "layouts 1", 2, REGIONS, ("id 1", None), base=10, limit=29, window=10, granted=1_000)

REGISTERS = [
    _REGISTER,
    replace(_REGISTER, layouts_id="layouts 2"),
    replace(_REGISTER, epoch=3),
    replace(_REGISTER, regions=ORDERS[1]),
    replace(_REGISTER, ids=("id 1", "id 2")),
    replace(_REGISTER, base=11),
    replace(_REGISTER, limit=49),
    replace(_REGISTER, window=20),
    replace(_REGISTER, granted=1_001),
    replace(_REGISTER, preceding=1),
]
COPIES = [Copy(_REGISTER, "mirror 1"), *(Copy(register, "mirror 1") for register in REGISTERS[1:])]
COPIES.append(Copy(_REGISTER, "mirror 2"))
RECORD_COPIES = [*(Copy(record, "mirror 1") for record in RECORDS), Copy(_RECORD, "mirror 2")]


def _mostly_first(values: list[Any]) -> st.SearchStrategy[Any]:
    """Draw the first one often, so that `old` is often the one that is there."""
    return st.sampled_from([*[values[0]] * (len(values) - 2), *values])


_REGISTERS = _mostly_first(REGISTERS)

LAYOUTS = [tuple(Layout(epoch, 10 * epoch, REGIONS) for epoch in range(1, last + 1)) for last in (1, 2, 3, 43)]
"""In the epoch 43, what was issued in the first ones is forgotten."""

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
    "record": _mostly_first(RECORDS),
    "over": _EPOCHS,
    "layouts": st.sampled_from(LAYOUTS),
    "deleted": st.sampled_from([Deleted(1, 9), Deleted(2, 19)]),
    "past": st.none() | st.sampled_from([(1, 7), (2, 9)]),
    "instead_of": st.none() | _TOKENS,
    "token": _TOKENS,
    "ceiling": _ITEM["ceiling"],
    "by": st.none() | st.sampled_from([0, 3, 6]),
    "most": _ITEM["issued"],
    "epoch": _EPOCHS,
    "patient": st.booleans(),
}

_PAST = st.none() | st.just((1, 7))
_OPEN = st.builds(Item, **_ITEM, fenced=st.sampled_from([False, False, True]), past=_PAST)
_OPENING = st.builds(Item, **_ITEM, fenced=st.just(True), opening=_TOKENS)
_CLOSED = st.builds(Item, **_ITEM, fenced=st.just(True))
_DELETED = _CLOSED.map(lambda item: replace(item, ceiling=item.issued, deleted=True))


def _replaced(values: list[Any], before: list[Any]) -> dict[str, st.SearchStrategy[Any]]:
    return {"old": st.none() | _mostly_first(values) | st.sampled_from(before), "new": _mostly_first(values)}


OWN_FIELDS: dict[type, dict[str, st.SearchStrategy[Any]]] = {
    RenewItem: {"item": st.builds(Item, **{**_ITEM, "epoch": st.sampled_from([2, 44])})},
    CloseItem: {"epoch": st.sampled_from([1, 2, 44]), "deleted": st.booleans()},
    PutItem: {"item": _OPENING | _CLOSED | _DELETED},
    WriteRecord: _replaced(RECORDS, RECORDS),
    WriteRecordCopy: _replaced(RECORD_COPIES, RECORD_COPIES),
    WriteRegister: _replaced(REGISTERS, REGISTERS),
    WriteCopy: _replaced(COPIES, COPIES),
    DeleteRegister: {"old": _mostly_first(REGISTERS)},
    DeleteCopy: {"old": _mostly_first(COPIES)},
}
"""The fields whose values depend on the operation."""


def _drawn(kind: type[Any]) -> st.SearchStrategy[Any]:
    values = {**FIELDS, **OWN_FIELDS.get(kind, {})}
    return st.builds(kind, **{field.name: values[field.name] for field in fields(kind)})


KINDS = [
    kind
    for kind in vars(operations).values()
    if isinstance(kind, type) and issubclass(kind, Operation) and kind is not Operation
]


def _possible(operation: Operation) -> bool:
    """An item is renewed by one of a later epoch only, and closed at its own or a later one."""
    match operation:
        case RenewItem():
            return operation.over < operation.item.epoch
        case CloseItem():
            return operation.over <= operation.epoch
        case _:
            return True


READING = ("Read", "Describe", "Scan")
OWN = (Clock, TakeRunLock, MayBegin)
"""What a run does at no table."""

_READS = [
    kind
    for kind in KINDS
    if kind.__name__.startswith(READING) and kind is not DescribeStream  # these have none
]
WRITES = [kind for kind in KINDS if kind not in OWN and not kind.__name__.startswith(READING)]

OPERATIONS: st.SearchStrategy[Operation] = st.sampled_from([*WRITES * 3, *_READS]).flatmap(_drawn).filter(_possible)

_REGION = st.tuples(FIELDS["region"])
_STEP: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "carry_out": st.tuples(OPERATIONS),
    "mint": _REGION,
    "mint_block": st.tuples(FIELDS["region"], st.integers(1, 4)),
    "make_table": _REGION,
    "delete_table": _REGION,
    "delete_receipts": _REGION,
}
_OFTEN = ["carry_out"] * 44 + ["mint"] * 3 + ["mint_block"] * 2 + ["make_table", "delete_table", "delete_receipts"]

STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from(_OFTEN).flatmap(lambda name: st.tuples(st.just(name), _STEP[name])), min_size=25, max_size=40
)

_NOTHING: dict[str, Any] = {}
_HELD = st.fixed_dictionaries({COUNTER: _OPEN | _OPEN | _OPEN | _OPENING | _DELETED})
_RECORDED = st.builds(Recorded, st.sampled_from(LAYOUTS), st.sampled_from([{}, {1: 7}]).map(dict))
_LAYOUTS: st.SearchStrategy[dict[str, Any]] = st.just(_NOTHING).map(dict) | st.fixed_dictionaries(
    {COUNTER: st.sampled_from(LAYOUTS)}
)

WORLDS = st.builds(
    World,
    without=st.none(),
    layouts=st.builds(
        Layouts,
        id=st.just("layouts 1"),
        record=st.none() | _mostly_first(RECORDS),
        registers=st.just(_NOTHING).map(dict) | st.fixed_dictionaries({COUNTER: _REGISTERS}),
        without_admitted=st.sampled_from([False, False, False, True]),
    ),
    mirror=st.builds(
        Mirror,
        id=st.just("mirror 1"),
        record=st.none() | _mostly_first(RECORD_COPIES),
        copies=st.just(_NOTHING).map(dict) | st.fixed_dictionaries({COUNTER: _mostly_first(COPIES)}),
    ),
    tables=st.fixed_dictionaries(
        {
            region: st.builds(
                SimulatedTable, id=st.just(f"{region} 1"), items=_HELD | _HELD | st.just(_NOTHING).map(dict)
            )
            for region in REGIONS
        }
    ),
    archive=st.builds(Archive, _LAYOUTS, st.sampled_from([{}, {COUNTER: Deleted(1, 9)}]).map(dict)),
    receipts=st.fixed_dictionaries(
        {
            region: st.builds(
                SimulatedReceipts, st.just(_NOTHING).map(dict) | st.fixed_dictionaries({COUNTER: _RECORDED})
            )
            for region in REGIONS
        }
    ),
)
"""What there may be at the start, so that few steps reach much."""
