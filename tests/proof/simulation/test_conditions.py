"""Every condition and every rule is needed: with any one taken out, the search finds what goes wrong.

What takes several late writes in one order is written by hand (conditions_by_hand.py, rules_by_hand.py). What only a
loss of nearly everything needs is found by the matrix of losses (test_losses.py).
"""

import pytest

from proof.simulation.checks import MintedTwice, Stuck, Unasked
from proof.simulation.schedule import RandomSchedule
from tests.proof.simulation import conditions_by_hand, rules_by_hand
from tests.proof.simulation.rules import RULES, taken_out
from tests.proof.simulation.test_losses import FOUND

MOST = 20_000

BY_HAND = conditions_by_hand.BY_HAND | rules_by_hand.BY_HAND

BY_SEARCH: dict[str, tuple[type[AssertionError], int]] = {
    "Mint: issued < ceiling": (MintedTwice, 0),
    "WriteRegister check of layouts: unchanged": (Unasked, 2),
    "Mint: stride = :stride": (MintedTwice, 0),
    "Mint: ceiling = :ceiling": (MintedTwice, 170),
    "Mint: issued <= :last": (MintedTwice, 0),
    "OpenItem: that state": (MintedTwice, 31),
    "FenceItem: attribute_not_exists(fenced)": (MintedTwice, 76),
    "limit: no ceiling above it": (MintedTwice, 20),
    "identity: of a counters table": (MintedTwice, 1337),
    "event: the record's own": (Stuck, 0),
    "throttled: only that item": (Stuck, 2),
    "fence: relative": (Stuck, 13),
    "stray: stops nobody": (Stuck, 0),
    "unreachable: stops nobody": (Stuck, 12),
    "mirror: has the first record": (Stuck, 54),
    "fence: only if the next register can be written": (Stuck, 1),
    "window: no rate by a short time": (Stuck, 14),
    "receipts: stop no region": (Stuck, 1),
}
"""Condition → what goes wrong without it, and the seed that found it, which is tried first. Once the protocol or the
schedules have changed it may find nothing, and these tests take minutes: pytest's `-rP` prints the seeds that find."""


@pytest.mark.slow
def test_every_condition_and_every_rule_is_taken_out_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proof.simulation.schedule.MOVES", (0.5, 0.5, 0.5))
    met = {name for seed in range(12) for name in RandomSchedule(seed, losses=2).run().conditions()}

    assert {*BY_SEARCH, *BY_HAND, *FOUND} == {*met, *RULES}


@pytest.mark.parametrize("name", BY_SEARCH)
def test_the_search_finds_what_goes_wrong_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proof.simulation.schedule.MOVES", (0, 0, 0))  # none of these needs another home region
    wrong, found = BY_SEARCH[name]
    for seed in (found, *range(MOST)):
        try:
            with taken_out(name):
                RandomSchedule(seed, losses=1 + seed % 2).run()
        except wrong:
            print(f"found by {seed}")
            return
        except AssertionError:
            continue  # something else went wrong first
    pytest.fail(f"{MOST} schedules went well without {name!r}")


@pytest.mark.parametrize("name", BY_HAND)
def test_a_schedule_by_hand_goes_wrong_only_without(name: str) -> None:
    schedule, wrong = BY_HAND[name]
    schedule()
    with taken_out(name), pytest.raises(wrong):
        schedule()
