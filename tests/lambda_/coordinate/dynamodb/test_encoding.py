"""The record, registers, copies and items survive being stored."""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

import pytest
from coordinate.dynamodb.encoding import (
    admitted_of,
    attributes_of,
    copy_of,
    decoded,
    item_of,
    item_values,
    record_of,
    register_of,
)
from coordinate.protocol.model import Absent, Copy, DeploymentRecord, Item, Register
from hypothesis import given
from hypothesis import strategies as st

from global_integers_core.lattice import MAX_INTEGER
from tests.lambda_.coordinate.sample_records import desired, register

INTEGERS = st.integers(-64, MAX_INTEGER)
EPOCHS = st.integers(1, MAX_INTEGER)
NAMES = st.sampled_from(["us-east-1", "eu-west-1", "us-west-2"])
REGIONS = st.lists(NAMES, unique=True).map(tuple)
IDS = st.text(min_size=1) | st.uuids().map(str)


@st.composite
def registers(draw: st.DrawFn) -> Register:
    regions = draw(REGIONS)
    ids = draw(st.tuples(*[st.none() | IDS] * len(regions)))
    base, limit, window, granted, lately, preceding = draw(st.tuples(*[INTEGERS] * 6))
    counter, layouts_id, epoch, lost = draw(IDS), draw(IDS), draw(EPOCHS), draw(st.text())
    return Register(counter, layouts_id, epoch, regions, ids, base, limit, window, granted, lately, preceding, lost)


DEFAULTS = ("reconciled", "report", "answered", "above", "first_epoch", "first_base", "term")
RECORDS = st.builds(
    DeploymentRecord,
    desired=st.just(desired("us-east-1", "eu-west-1", leaving=["us-west-2"], floors={"orders": 5, "*": 7})),
    **dict.fromkeys(DEFAULTS, ...),
)
PAST = st.none() | st.tuples(EPOCHS, INTEGERS)
ITEMS = st.builds(Item, INTEGERS, st.integers(1, 64), INTEGERS, EPOCHS, st.booleans(), st.text(), past=PAST)


@given(registers(), IDS)
def test_a_register_and_its_copy_are_read_as_they_were_written(register: Register, mirror: str) -> None:
    copy = copy_of(register_of)(attributes_of(Copy(register, mirror)))

    assert astuple(register_of(attributes_of(register))) == astuple(register)
    assert astuple(copy) == astuple(Copy(register, mirror))


@given(RECORDS, IDS)
def test_a_record_and_its_copy_are_read_as_they_were_written(record: DeploymentRecord, mirror: str) -> None:
    found = record_of(attributes_of(record))

    assert (found, found.desired.floors) == (record, record.desired.floors)
    assert admitted_of(attributes_of(record.admitted)) == record.admitted
    assert copy_of(record_of)(attributes_of(Copy(record, mirror))) == Copy(record, mirror)


@given(ITEMS)
def test_an_item_is_read_as_it_was_written(item: Item) -> None:
    values = item_values(item)

    assert astuple(item_of(values)) == astuple(item)
    assert ("fenced" in values, "held" in values) == (item.fenced, bool(item.held)), "conditions test for these"


FINE = {"issued": {"N": "7"}, "stride": {"N": "3"}, "ceiling": {"N": "9"}, "epoch": {"N": "1"}}
STRAYS = [
    {"counter": {"S": "orders"}, **wrong}
    for wrong in (
        {"note": {"S": "written by hand"}},
        {**FINE, "issued": {"S": "7"}},
        {**FINE, "stride": {"N": "0"}},
        {**FINE, "epoch": {"N": "0.5"}},
        {**FINE, "epoch": {"N": "0"}},
    )
]


@pytest.mark.parametrize("found", STRAYS)
@pytest.mark.parametrize("decode", [item_of, register_of, copy_of(register_of), admitted_of])
def test_what_cannot_be_read_is_stray(decode: Callable[[Mapping[str, Any]], object], found: dict[str, Any]) -> None:
    assert decoded(decode, found) is Absent.STRAY


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": {"L": []}},
        {"regions": {"L": [{"S": "a"}, {"S": "a"}]}, "ids": {"L": [{"NULL": True}] * 2}},
        {"regions": {"L": [{"S": f"r{n}"} for n in range(65)]}, "ids": {"L": [{"NULL": True}] * 65}},
    ],
)
def test_a_register_of_other_regions_than_tables_is_stray(wrong: dict[str, Any]) -> None:
    assert decoded(register_of, {**attributes_of(register("a")), **wrong}) is Absent.STRAY
