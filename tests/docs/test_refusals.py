"""docs/layouts.md has what is refused after which losses, as the matrix of losses finds it.

`python -m tests.docs.test_refusals` writes it.
"""

import re
from functools import cache

import pytest

from local.paths import ROOT
from simulation.losses import action, all_losses, causes, outcome

PAGE = ROOT / "docs" / "layouts.md"
TABLE = re.compile(r"(?<=\| situation \| refused \| what to do \|\n\|---\|---\|---\|\n)(\| .*\n)*")

MANY = 3

NAMES = "[abc](, [abc])*"
"""The regions of the matrix."""


@cache
def rows() -> list[str]:
    """Return a row for each refusal, with the fewest losses that lead to it, of a stack of one region."""
    found: dict[tuple[str, str], set[frozenset[str]]] = {}
    for losses in all_losses():
        if len(losses.regions) == 1 and not losses.warm:
            for refusal in outcome(losses):
                found.setdefault((shown(refusal), action(refusal)), set()).add(causes(losses))
    return sorted(
        f"| {'; or '.join(sorted(fewest(lost)))} | {refusal} | {todo[0].upper()}{todo[1:]}. |\n"
        for (refusal, todo), lost in found.items()
    )


def fewest(lost: set[frozenset[str]]) -> list[str]:
    """Return those that have no other one among their parts, in words. If there are many, what they have in common."""
    least = [each for each in lost if not any(other < each for other in lost)]
    if len(least) > MANY:
        return [f"{' and '.join(sorted(least[0].intersection(*least)))}, whatever else is lost"]
    return [" and ".join(sorted(each)) for each in least]


def shown(refusal: str) -> str:
    """Return the beginning of a refusal, without names."""
    text = re.sub(r"^[a-z]: ", "", refusal)
    text = re.sub(rf"none of {NAMES}", "none of <regions>", text)
    text = re.sub(rf"\b{NAMES}\b(?=( must| answers|, so| already| was)|$)", "<region>", text)
    text = re.sub(r"\(layouts \d+\)", "(…)", text)
    return f"`{' '.join(text.split()[:9])} …`"


def page(text: str) -> str:
    return TABLE.sub(lambda _: "".join(rows()), text, count=1)


@pytest.mark.long
def test_the_page_has_the_refusals() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text, "run python -m tests.docs.test_refusals"
    assert 3 <= len(rows()) <= 20


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
