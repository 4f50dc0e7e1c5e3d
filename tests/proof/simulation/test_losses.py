"""Every combination of losses: nothing is minted twice, and whatever a refusal says lets the stack go on."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from local.paths import ROOT
from proof.simulation.checks import MintedTwice, Stuck, Unasked
from proof.simulation.losses import WITHOUT, Losses, all_losses, outcome
from tools.generated import shown

PARTS = 8
"""So that several processes share the work."""

NOTHING = Losses(
    ("present",), "present", "present", "present", remembered=True, role=True, floor=False, reordered=False, warm=True
)
"""The cell in which nothing is lost."""

HOME = replace(NOTHING, layouts="recreated", mirror="recreated")
"""Both tables at home are lost."""


@pytest.mark.long
def test_no_combination_of_losses_mints_twice_or_has_no_way_out() -> None:
    check(filter(is_first, all_losses()))


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_combination_at_all_mints_twice(part: int) -> None:
    check([losses for losses in all_losses() if not is_first(losses)][part::PARTS])


def is_first(losses: Losses) -> bool:
    """Return whether it takes one region and the archive: less is lost at once than anywhere else."""
    return len(losses.regions) == 1 and losses.archive == "present"


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
        (HOME, ["c: a may have minted up to"]),
        (replace(HOME, regions=("recreated",)), ["Pulumi's state: the first layouts table of this stack"]),
        (replace(HOME, regions=("recreated",), floor=True), []),
        (replace(HOME, remembered=False), ["c: a may have minted up to"]),
        (
            replace(HOME, remembered=False, floor=True, regions=("unreachable",)),
            ["a must answer, since there is no deployment record"],
        ),
        (
            replace(HOME, role=False, remembered=False),
            ["a must answer, since there is no deployment record", "c: a may have minted up to"],
        ),
        (replace(HOME, layouts="restored"), ["c: a may have minted up to"]),
        (replace(HOME, reordered=True), ["c: a may have minted up to"]),
        (replace(NOTHING, layouts="recreated", reordered=True), []),
    ],
    ids=str,
)
def test_a_loss_is_refused_only_where_an_operator_decides(losses: Losses, said: list[str]) -> None:
    refusals = outcome(losses)

    assert len(refusals) == len(said)
    assert [part for part, refusal in zip(said, refusals, strict=True) if part not in refusal] == []


FOUND = {
    "first: every region has answered": MintedTwice,
    "first: what Pulumi remembers": MintedTwice,
    "first: what is left": MintedTwice,
    "after a loss: an epoch that nobody has seen": Stuck,
    "after a loss: what begins later begins above": MintedTwice,
    "default: only if chosen": Unasked,
}
"""What goes wrong without each rule. Without the fourth, warm functions refuse what is minted."""


def test_every_rule_is_taken_out_in_turn() -> None:
    assert {*FOUND} == {*WITHOUT}


@pytest.mark.long
@pytest.mark.parametrize("rule", FOUND)
def test_some_loss_needs_each_rule(rule: str) -> None:
    for losses in filter(is_first, all_losses()):
        try:
            outcome(losses, rule)
        except FOUND[rule]:
            return
        except AssertionError:
            continue  # something else went wrong first
    pytest.fail(f"every loss went well without {rule!r}")
