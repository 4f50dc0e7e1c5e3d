"""Registers and items survive being stored."""

from dataclasses import astuple

from coordinate.encoding import item_of, item_values, register_attributes, register_of
from coordinate.model import Item, Next, Register
from hypothesis import given
from hypothesis import strategies as st

from integers.lattice import MAX_INTEGER
from integers.layouts import Layout

INTEGERS = st.integers(-64, MAX_INTEGER)
REGIONS = st.lists(st.sampled_from(["us-east-1", "eu-west-1", "us-west-2"]), min_size=1, unique=True).map(tuple)
LAYOUTS = st.lists(st.builds(Layout, INTEGERS, INTEGERS, REGIONS)).map(tuple)
REGISTERS = st.builds(
    Register,
    counter=st.text(min_size=1),
    epoch=INTEGERS,
    regions=REGIONS,
    base=INTEGERS,
    born=st.text(min_size=1),
    opened=st.booleans(),
    next=st.none() | st.builds(Next, REGIONS, INTEGERS),
    past=LAYOUTS,
)
ITEMS = st.builds(Item, INTEGERS, INTEGERS, INTEGERS, INTEGERS, st.booleans(), st.none() | st.text(min_size=1))


@given(REGISTERS)
def test_a_register_is_read_as_it_was_written(register: Register) -> None:
    assert astuple(register_of(register_attributes(register))) == astuple(register), "what is past too"


@given(ITEMS)
def test_an_item_is_read_as_it_was_written(item: Item) -> None:
    assert item_of(item_values(item)) == item


@given(ITEMS)
def test_what_an_item_is_not_is_not_stored(item: Item) -> None:
    assert ("fenced" in item_values(item), "opening" in item_values(item)) == (item.fenced, item.opening is not None)
