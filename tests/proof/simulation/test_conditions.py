"""Every condition and every rule is needed: with any one taken out, the search finds what goes wrong.

What takes several late writes in one order is written by hand (test_conditions_by_hand.py, test_deletion.py).
"""

import pytest

from proof.simulation.checks import MintedTwice, Stuck, Unasked
from proof.simulation.schedule import RandomSchedule
from proof.simulation.world import ALIVE, CONDITIONS, DEFAULTS, RULES
from tests.proof.simulation.test_conditions_by_hand import BY_HAND
from tests.proof.simulation.test_deletion import BY_HAND as DELETIONS

MOST = 20_000

HANDWRITTEN = BY_HAND | DELETIONS
"""Condition → a schedule, in which it may be taken out, and what then goes wrong."""

FOUND = {
    "mint: below the ceiling": 0,
    "register: record is admitted": 48,
    "renew: that epoch": 0,
    "put: no item or the other's": 47,
    "open: own token": 445,
    "fence: not fenced": 74,
    "close: that epoch": 1_785,
    "limit: no ceiling above it": 8,
    "identity: of a counters table": 425,
    "identity: of the layouts table": 1_019,
    "identity: of the mirror": 1_281,
    "mirror: written before anything is done": 282,
    "event: the record's own": 0,
    "admit: the same at any age": 0,
    "throttled: only that item": 5,
    "fence: relative": 0,
    "stray: stops nobody": 6,
    "unreachable: stops nobody": 45,
    "mirror: has the first record": 16,
    "conflict: tried again": 6,
    "fence: only if the next register can be written": 0,
    "window: no rate by a short time": 30,
    "receipts: stop no region": 0,
    "default: only if chosen": 9_455,
    "default: noted before callers reach it": 161,
    "default: chosen for ever": 161,
}
"""The seed that found each. It is tried first, and means nothing once the protocol has changed."""

BY_SEARCH = {
    "mint: below the ceiling": MintedTwice,
    "register: record is admitted": Unasked,
    "renew: that epoch": MintedTwice,
    "put: no item or the other's": MintedTwice,
    "open: own token": MintedTwice,
    "fence: not fenced": MintedTwice,
    "close: that epoch": MintedTwice,
    "limit: no ceiling above it": MintedTwice,
    "identity: of a counters table": MintedTwice,
    "identity: of the layouts table": MintedTwice,
    "identity: of the mirror": MintedTwice,
    "mirror: written before anything is done": MintedTwice,
    **dict.fromkeys(ALIVE, Stuck),
    **dict.fromkeys(DEFAULTS, Unasked),
}
"""What is found without each."""


def test_every_condition_and_every_rule_is_taken_out_in_turn() -> None:
    assert {*BY_SEARCH, *HANDWRITTEN} == {*CONDITIONS, *RULES, *DEFAULTS, *ALIVE}


@pytest.mark.parametrize("condition", BY_SEARCH)
def test_the_search_finds_what_goes_wrong_without(condition: str) -> None:
    for seed in (FOUND[condition], *range(MOST)):
        try:
            RandomSchedule(seed, condition, losses=1 + seed % 2).run()
        except BY_SEARCH[condition]:
            return
        except AssertionError:
            continue  # something else went wrong first
    pytest.fail(f"{MOST} schedules went well without {condition!r}")


@pytest.mark.parametrize("condition", HANDWRITTEN)
def test_nothing_goes_wrong_with_the_condition(condition: str) -> None:
    schedule, _ = HANDWRITTEN[condition]
    schedule(None)


@pytest.mark.parametrize("condition", HANDWRITTEN)
def test_something_goes_wrong_without(condition: str) -> None:
    schedule, wrong = HANDWRITTEN[condition]
    with pytest.raises(wrong):
        schedule(condition)
