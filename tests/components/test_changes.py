"""The words of a preview."""

from dataclasses import replace
from typing import Any

import pytest

from components.changes import MOST, changes
from components.record import Record

WISH: dict[str, Any] = {
    "regions": ["us-east-1", "eu-west-1", "us-west-2"],
    "leaving": [],
    "counters": ["integers"],
    "floors": {},
    "window": 100_000_000,
    "headroom": 10_000,
    "watchMinutes": 5,
    "tables": {"us-east-1": "a", "eu-west-1": "b", "us-west-2": "c"},
}
REPORT: dict[str, Any] = {"counters": {"integers": {"epoch": 3, "base": 1}}, "pending": []}
RECORD = Record(number=4, follows=3, asked=0, wish={**WISH, "home": "h", "first": "h"}, settled=True, report=REPORT)


def words(record: Record | None = RECORD, **asked: object) -> str:
    return changes({**WISH, **asked}, record)


def test_nothing_is_said_where_nothing_changes() -> None:
    assert words() == ""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            {"regions": ["us-east-1", "eu-west-1"], "leaving": ["us-west-2"]},
            "integers: epoch 3 → 4, gap about 30,000; leaving: us-west-2",
        ),
        (
            {"regions": [*WISH["regions"], "eu-north-1"], "headroom": 100},
            "integers: epoch 3 → 4, gap about 300; joining: eu-north-1; headroom: 10,000 → 100",
        ),
        ({"regions": ["eu-west-1", "us-east-1", "us-west-2"]}, "integers: epoch 3 → 4, gap about 30,000"),
        (
            {"tables": {**WISH["tables"], "eu-west-1": ""}},
            "integers: epoch 3 → 4, gap up to 300,000,000; lost tables: eu-west-1",
        ),
        ({"counters": ["integers", "orders"]}, "new counters: orders"),
        ({"counters": ["orders"]}, "new counters: orders; no longer in the settings, but still minting: integers"),
        ({"floors": {"*": 7, "integers": 5000}}, "floors: * 7, integers 5,000"),
        ({"window": 1000, "watchMinutes": 1}, "window: 100,000,000 → 1,000; watch minutes: 5 → 1"),
    ],
    ids=["leaving", "joining", "reorder", "lost table", "new counter", "another counter", "floors", "numbers"],
)
def test_a_change_is_said_in_one_line(asked: dict[str, Any], expected: str) -> None:
    assert words(**asked) == expected


def test_a_region_that_has_left_is_deleted() -> None:
    left = replace(RECORD, wish={**WISH, "leaving": ["us-west-1"]})

    assert words(left) == "deleted: us-west-1"
    assert words(left, regions=[*WISH["regions"], "us-west-1"]).endswith("; joining: us-west-1")


def test_a_deployment_that_is_not_finished_is_named() -> None:
    started = replace(RECORD, settled=False)

    assert words(started) == "deployment 4 is not finished, and is continued"
    assert words(started, window=1000).startswith("deployment 4 is not finished, and is replaced by this one; ")


def test_a_counter_that_was_created_by_hand_is_not_a_new_one() -> None:
    counters = {name: {"epoch": 1, "base": 1} for name in ("integers", "invoices")}

    assert words(replace(RECORD, report={"counters": counters}), counters=["integers", "invoices"]) == ""


def test_only_some_of_many_counters_are_named() -> None:
    counters = {f"c{number:02}": {"epoch": 1, "base": 1} for number in range(MOST + 5)}
    text = words(replace(RECORD, report={"counters": counters}), regions=["us-east-1"])

    assert text.count("epoch 1 → 2") == MOST
    assert "; 5 more counters likewise; " in text


def test_a_stack_without_a_record_says_so() -> None:
    assert words(None).startswith("there is no record of an earlier deployment; ")


def test_the_counter_of_the_check_is_no_news() -> None:
    assert words(RECORD, counters=["integers", "-check"]) == ""
