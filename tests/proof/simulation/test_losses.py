"""Every combination of losses: nothing is minted twice, and whatever a refusal says lets the stack go on."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from random import SystemRandom

import pytest

from local.paths import ROOT
from proof.simulation.checks import MintedTwice, Stuck
from proof.simulation.losses import Losses, all_losses, lost, outcome
from tests.proof.simulation.rules import taken_out
from tools.generated import shown

PARTS = 4
"""So that several processes share the work."""

FEW = 200

NOTHING = Losses(("present",), "present", "present", "present", remembered=True, role=True, answered=False, warm=True)
"""The cell in which nothing is lost."""

HOME = replace(NOTHING, layouts="recreated", mirror="recreated")
"""Both tables at home are lost."""


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_combination_of_losses_mints_twice_or_has_no_way_out(part: int) -> None:
    """Every one of one or two regions, and a few of three: `make search` runs all."""
    smaller, larger = [list(losses) for _, losses in groupby(all_losses(), key=lambda losses: len(losses.regions) == 3)]
    check([*smaller, *SystemRandom().sample(larger, FEW)][part::PARTS])


def is_first(losses: Losses) -> bool:
    """Return whether it takes one region: less is lost at once than anywhere else."""
    return len(losses.regions) == 1


def check(cells: Iterable[Losses]) -> None:
    page = (ROOT / "docs" / "layouts.md").read_text(encoding="utf-8")
    for losses in cells:
        try:
            refusals = outcome(losses)
        except AssertionError as error:
            raise AssertionError(f"outcome({losses}): {type(error).__name__}: {error}") from error
        for refusal in refusals:
            assert shown(refusal) in page, f"outcome({losses}) is refused in a way that docs/layouts.md lacks"


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (NOTHING, []),
        (replace(NOTHING, layouts="recreated"), []),
        (replace(NOTHING, layouts="restored", regions=("restored",)), []),
        (replace(NOTHING, mirror="recreated", regions=("recreated",)), []),
        (replace(NOTHING, layouts="without its record", remembered=False), []),
        (replace(NOTHING, layouts="without its registers"), []),
        (replace(NOTHING, layouts="restored", regions=("restored",), receipts="recreated"), []),
        (HOME, ["Answer this loss"]),
        (replace(HOME, answered=True), ["Answer this loss"]),
        (replace(HOME, regions=("recreated",)), ["Answer this loss"]),
        (replace(HOME, regions=("present", "restored"), answered=True), ["Answer this loss"]),
        (replace(HOME, remembered=False), ["Answer this loss"]),
        (replace(HOME, remembered=False, regions=("unreachable",)), ["a must answer", "Answer this loss"]),
        (replace(HOME, role=False, remembered=False), ["a must answer", "Answer this loss"]),
        (replace(HOME, layouts="restored"), ["Answer this loss"]),
    ],
    ids=str,
)
def test_a_loss_is_refused_only_where_an_operator_decides(losses: Losses, said: list[str]) -> None:
    refusals = outcome(losses)

    assert len(refusals) == len(said)
    assert [part for part, refusal in zip(said, refusals, strict=True) if part not in refusal] == []


FOUND = {
    "first: what Pulumi remembers": MintedTwice,
    "first: every region has answered": MintedTwice,
    "first: what is left": MintedTwice,
    "answer: the base lies above it": MintedTwice,
    "answer: what begins later begins above": MintedTwice,
    "answer: what begins later has an epoch of its own": Stuck,
    "loss: an epoch above the clock": Stuck,
}
"""What goes wrong without each rule. Without those of an epoch, warm functions refuse what is minted."""


@pytest.mark.long
@pytest.mark.parametrize("rule", FOUND)
def test_some_loss_needs_each_rule(rule: str) -> None:
    for losses in filter(is_first, all_losses()):
        lost(losses)  # what was built before has all rules
        try:
            with taken_out(rule):
                outcome(losses)
        except FOUND[rule]:
            return
        except AssertionError:
            continue  # something else went wrong first
    pytest.fail(f"every loss went well without {rule!r}")
