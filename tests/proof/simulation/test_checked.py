"""What must never happen is noticed."""

from dataclasses import replace
from random import Random

import pytest
from coordinate.protocol.model import Absent, Copy, DeploymentRecord, Item, ItemState, Refused, Register
from coordinate.protocol.operations import FenceItem, ReadCopy, ReadItem, ReadRegister, WriteCopy, WriteRegister
from coordinate.protocol.refusals import lost_everything, lost_meanwhile

from proof.simulation.checks import CheckedWorld, FalseAlarm, MintedTwice, Stuck, Unasked, check_refusal
from proof.simulation.deployments import decoded, desired

REGISTER = Register("c", "layouts 1", 1, ("a",), ("a 2",), base=1, limit=10, window=10, granted=1_000)
NEXT = Register("c", "layouts 1", 2, ("a", "b"), ("a 2", None), base=11, limit=30, window=10, granted=1_000)


def world(*wanted: str) -> CheckedWorld:
    """Return a world in which a mints, and these regions are asked for."""
    checked = CheckedWorld()
    checked.make_table("a")
    checked.items("a")["c"] = Item(0, 1, 10, 1)
    checked.registers["c"] = REGISTER
    checked.record = DeploymentRecord("layouts 1", "one", 1, "", 1_000, decoded(desired(wanted)))
    return checked


def write(tables: CheckedWorld, new: Register) -> bool:
    """Write this register in place of the first one."""
    return tables.carry_out(WriteRegister(REGISTER, new, tables.admitted))


def test_an_integer_that_is_minted_twice_is_noticed() -> None:
    tables = world("a")
    assert [tables.mint("a"), tables.mint("a")] == [1, 2]
    tables.items("a")["c"] = Item(0, 1, 10, 1)
    tables.restart("a")

    with pytest.raises(MintedTwice, match="c 1 was minted in a and again in a"):
        tables.mint("a")


def test_a_record_that_is_called_lost_and_is_there_is_noticed() -> None:
    tables = world("a")
    check_refusal(tables, lost_meanwhile("mirror"))
    with pytest.raises(FalseAlarm, match="Neither the layouts table"):
        check_refusal(tables, lost_everything("layouts 1", {}))

    tables.layouts.id = "layouts 2"  # its content was put back into another table
    check_refusal(tables, lost_everything("layouts 2", {}))


def test_a_block_that_has_an_integer_a_second_time_is_noticed() -> None:
    tables = world("a")
    assert tables.mint("a") == 1
    tables.items("a")["c"] = Item(-1, 1, 10, 1)
    tables.restart("a")

    with pytest.raises(MintedTwice, match="c 1 was minted"):
        tables.mint_block("a", 3)


def test_what_a_restored_table_repeats_is_kept_apart() -> None:
    tables = world("a")
    assert [tables.mint("a"), tables.mint("a")] == [1, 2]
    tables.lose("a", "restored", Random(0))  # to the moment between the two
    tables.restart("a")

    assert [tables.mint("a"), tables.mint("a")] == [2, 3]
    assert tables.minted == {("c", 1): "a", ("c", 2): "a"}
    assert tables.excepted == {("c", 2), ("c", 3)}


def test_a_warm_function_hands_out_nothing_of_a_restored_table() -> None:
    tables = world("a")
    assert [tables.mint("a"), tables.mint("a")] == [1, 2]
    tables.lose("a", "restored", Random(0))

    assert [tables.mint("a"), tables.mint_block("a", 2)] == [None, []]
    assert tables.excepted == {("c", 2)}, "it has found out by minting"


def test_a_warm_function_mints_in_a_later_epoch_of_a_restored_table() -> None:
    tables = world("a")
    assert [tables.mint("a"), tables.mint("a")] == [1, 2]
    tables.lose("a", "restored", Random(0))
    assert tables.mint("a") is None
    tables.items("a")["c"] = Item(10, 1, 20, 2)

    assert tables.mint("a") == 11


@pytest.mark.parametrize("seed", range(10))
def test_a_table_is_restored_to_the_moment_that_was_kept(seed: int) -> None:
    tables = world("a")
    tables.mint_block("a", 5)
    tables.keep("a")
    tables.mint("a")
    tables.lose("a", "restored", Random(seed))

    assert tables.items("a")["c"].issued == 5


def test_a_window_that_has_grown_more_than_twelvefold_is_noticed() -> None:
    twelvefold, more = (replace(REGISTER, limit=10 + window, window=window) for window in (120, 121))

    assert write(world("a"), twelvefold) is True
    with pytest.raises(Stuck, match="a window has grown too much"):
        write(world("a"), more)


def test_denied_calls_end_a_run_only_at_home() -> None:
    tables = world("a")
    fence = FenceItem("a", "c", over=ItemState(1, ""), epoch=1, by=5, most=5)
    tables.denied = {"a": "writes", "mirror": "reads"}

    assert tables.carry_out(fence) is Absent.UNREACHABLE
    assert tables.carry_out(ReadItem("a", "c")) == Item(0, 1, 10, 1)
    with pytest.raises(Refused, match="home: the home region's tables can't be used: mirror"):
        tables.carry_out(ReadCopy("c"))
    assert tables.carry_out(WriteCopy(None, Copy(REGISTER, "mirror 1"))) is True
    assert tables.carry_out(ReadRegister("c")) == REGISTER


def test_a_layout_that_nobody_asks_for_is_noticed() -> None:
    assert write(world("a", "b"), NEXT) is True
    with pytest.raises(Unasked, match=r"\('a', 'b'\) begun, asked for is \('a',\)"):
        write(world("a"), NEXT)
