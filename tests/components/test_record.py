"""What a deployment asks depends on what the last one asked, and on what became of it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from components.record import Record, canonical, dropped, event, record_of

NOW = 1_795_000_000
WISH: dict[str, Any] = {"regions": ["eu-west-1", "us-east-1"], "leaving": ["us-west-2"], "counters": ["b", "a"]}
OTHER = {**WISH, "counters": ["a", "b"]}
DONE = Record(number=7, follows=5, asked=1_794_000_000, wish=WISH, settled=True, report={})


def asked(record: Record | None, wish: dict[str, Any] = WISH) -> tuple[int, int]:
    sent = json.loads(event(wish, record, NOW))
    assert sent["wish"] == wish
    assert set(sent) == {"wish", "follows", "asked"}
    return sent["follows"], sent["asked"]


def test_the_first_deployment_follows_none() -> None:
    assert asked(None) == (0, NOW)


def test_what_is_carried_out_is_asked_for_in_the_very_same_words_so_that_nothing_changes() -> None:
    assert asked(DONE) == (5, 1_794_000_000)


@pytest.mark.parametrize("record", [replace(DONE, settled=False), replace(DONE, wish=OTHER)])
def test_anything_else_is_asked_for_anew(record: Record) -> None:
    assert asked(record) == (7, NOW)


def test_the_order_of_counters_and_regions_is_a_part_of_the_wish() -> None:
    assert asked(DONE, OTHER) == (7, NOW)


def test_equal_wishes_are_the_same_text() -> None:
    backwards = dict(reversed(WISH.items()))

    assert event(backwards, DONE, NOW) == event(WISH, DONE, NOW + 1)
    assert canonical({"b": 1, "a": {"d": 1, "c": 2}}) == '{"a":{"c":2,"d":1},"b":1}'


def test_a_record_is_read_from_its_item() -> None:
    item = {
        "counter": {"S": "/deployment"},
        "home": {"S": "an id"},
        "number": {"N": "7"},
        "follows": {"N": "5"},
        "asked": {"N": "1794000000"},
        "wish": {"S": canonical(WISH)},
        "settled": {"BOOL": True},
        "report": {"S": '{"counters": {"a": {"epoch": 3, "base": 1}}, "pending": []}'},
    }

    assert record_of(json.dumps(item)) == Record(
        7, 5, 1_794_000_000, WISH, settled=True, report={"counters": {"a": {"epoch": 3, "base": 1}}, "pending": []}
    )
    item["report"] = {"S": ""}  # accepted, and not carried out: the coordinator was killed
    assert record_of(json.dumps(item)).report == {}
    del item["report"]
    assert record_of(json.dumps(item)) == DONE


def test_a_region_is_dropped_if_it_was_in_the_layout_and_is_not_even_leaving() -> None:
    assert dropped({"regions": ["us-east-1"], "leaving": []}, DONE) == ["eu-west-1"]
    assert dropped({"regions": ["us-east-1"], "leaving": ["eu-west-1"]}, DONE) == []
    assert dropped({"regions": [], "leaving": []}, None) == []
