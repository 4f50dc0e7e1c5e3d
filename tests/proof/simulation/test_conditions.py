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

BY_SEARCH: dict[str, tuple[type[AssertionError], int]] = {
    "mint: below the ceiling": (MintedTwice, 0),
    "register: record is admitted": (Unasked, 48),
    "renew: that epoch": (MintedTwice, 0),
    "put: no item or the other's": (MintedTwice, 47),
    "open: own token": (MintedTwice, 445),
    "fence: not fenced": (MintedTwice, 74),
    "close: that epoch": (MintedTwice, 538),
    "limit: no ceiling above it": (MintedTwice, 8),
    "identity: of a counters table": (MintedTwice, 425),
    "identity: of the layouts table": (MintedTwice, 1_019),
    "identity: of the mirror": (MintedTwice, 1_281),
    "mirror: written before anything is done": (MintedTwice, 1_125),
    "event: the record's own": (Stuck, 0),
    "admit: the same at any age": (Stuck, 2),
    "throttled: only that item": (Stuck, 5),
    "fence: relative": (Stuck, 0),
    "stray: stops nobody": (Stuck, 6),
    "unreachable: stops nobody": (Stuck, 45),
    "mirror: has the first record": (Stuck, 16),
    "conflict: tried again": (Stuck, 6),
    "fence: only if the next register can be written": (Stuck, 0),
    "window: no rate by a short time": (Stuck, 30),
    "receipts: stop no region": (Stuck, 0),
    "default: only if chosen": (Unasked, 4_159),
    "default: noted before callers reach it": (Unasked, 71),
    "default: chosen for ever": (Unasked, 415),
}
"""Condition → what goes wrong without it, and the seed that found it, which is tried first. Once the protocol or the
schedules have changed it may find nothing, and these tests take minutes: pytest's `-rP` prints the seeds that find."""


def test_every_condition_and_every_rule_is_taken_out_in_turn() -> None:
    assert {*BY_SEARCH, *HANDWRITTEN} == {*CONDITIONS, *RULES, *DEFAULTS, *ALIVE}


@pytest.mark.parametrize("condition", BY_SEARCH)
def test_the_search_finds_what_goes_wrong_without(condition: str) -> None:
    wrong, found = BY_SEARCH[condition]
    for seed in (found, *range(MOST)):
        try:
            RandomSchedule(seed, condition, losses=1 + seed % 2).run()
        except wrong:
            print(f"found by {seed}")
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
