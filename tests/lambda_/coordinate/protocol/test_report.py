"""What the coordinator replies, and what it leaves for the next preview."""

import json

from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult, note, nowhere, pending_regions, reply
from coordinate.protocol.scan import TablesScan

from tests.lambda_.coordinate.sample_records import record, register

RECONCILED = Outcome(register("a", "b", base=501, limit=2500), (), created=True)
WAITING = Outcome(register("a", "b", epoch=4), ("b", "d"))
STUCK = Outcome(register("a", "b"), ("b", "a"))


def test_a_reply_has_what_was_asked_for_and_counts_all() -> None:
    outcomes = {"c": RECONCILED, "orders": WAITING}
    assert reply(RunResult(outcomes=outcomes, reported=("c",))) == {
        "counters": {
            "c": {
                "epoch": 3,
                "base": 501,
                "limit": 2500,
                "regions": {"a": {"offset": 1, "stride": 2}, "b": {"offset": 2, "stride": 2}},
                "pending": [],
            }
        },
        "created": ["c"],
        "pending": ["b", "d"],
        "registered": 2,
    }
    assert reply(RunResult(outcomes=outcomes, reported=("orders",)))["counters"]["orders"]["pending"] == ["b", "d"]


def test_a_note_has_what_the_next_preview_says() -> None:
    found = json.loads(note({"c": RECONCILED, "orders": WAITING}, record("a", "b", counters=["c", "new"])))

    assert found == {"counters": {"c": {"epoch": 3, "base": 501}}, "pending": ["b", "d"], "windows": {}}
    wide = Outcome(register("a", window=12_345), ())
    assert json.loads(note({"c": wide}, record("a")))["windows"] == {"c": 13_000}


def test_the_counter_of_the_check_is_not_reported() -> None:
    outcomes = {"c": RECONCILED, "-check": RECONCILED}
    replied = reply(RunResult(outcomes=outcomes, reported=("c", "-check")))

    assert (list(replied["counters"]), replied["created"], replied["registered"]) == (["c"], ["c"], 1)
    assert list(json.loads(note(outcomes, record("a", "b", counters=["c", "-check"])))["counters"]) == ["c"]


def test_pending_regions_are_named_once() -> None:
    assert pending_regions([WAITING, RECONCILED, STUCK]) == ["a", "b", "d"]


def test_a_counter_is_nowhere_if_its_whole_layout_is_pending() -> None:
    assert nowhere([RECONCILED, WAITING]) is None
    assert nowhere([RECONCILED, STUCK]) == STUCK.register
    assert nowhere([]) is None


def test_a_reply_says_what_is_odd() -> None:
    odd = RunResult(unfinished=3, scan=TablesScan(stray={"ordrs": ("b", "mirror")}))

    assert reply(odd) == {
        "counters": {},
        "created": [],
        "pending": [],
        "registered": 0,
        "unfinished": 3,
        "stray": {"ordrs": ["b", "mirror"]},
    }
    assert reply(RunResult(skipped="another run is at work")) == {"skipped": "another run is at work"}
