"""What the coordinator replies, and what it leaves for the next preview."""

import json
from typing import Any

from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult, note, nowhere, reply
from coordinate.protocol.scan import TablesScan

from tests.lambda_.coordinate.sample_records import record, register

RECONCILED = Outcome(register("a", "b", base=501, limit=2500), (), created=True)
WAITING = Outcome(register("a", "b", epoch=4), ("b", "d"))
STUCK = Outcome(register("a", "b"), ("b", "a"))
OUTCOMES = {"c": RECONCILED, "orders": WAITING, "-check": RECONCILED}
"""The counter of the check is in no report."""


def test_a_reply_has_what_was_asked_for_and_counts_all() -> None:
    stray = TablesScan(stray={"ordrs": ("b", "mirror")})
    regions = {"a": {"offset": 1, "stride": 2}, "b": {"offset": 2, "stride": 2}}
    expected: dict[str, Any] = {
        "counters": {"c": {"epoch": 3, "base": 501, "limit": 2500, "regions": regions, "pending": []}},
        "created": ["c"],
        "pending": ["b", "d"],
        "registered": 2,
    }

    assert reply(RunResult(outcomes=OUTCOMES, reported=("c", "-check"))) == expected
    odd = reply(RunResult(outcomes=OUTCOMES, reported=("c",), unfinished=3, scan=stray))
    assert odd == {**expected, "unfinished": 3, "stray": {"ordrs": ["b", "mirror"]}}
    assert reply(RunResult(outcomes=OUTCOMES, reported=("orders",)))["counters"]["orders"]["pending"] == ["b", "d"]
    assert reply(RunResult(skipped="another run is at work")) == {"skipped": "another run is at work"}


def test_a_note_has_what_the_next_preview_says() -> None:
    found = json.loads(note(OUTCOMES, record("a", "b", counters=["c", "new", "-check"])))

    assert found == {"counters": {"c": {"epoch": 3, "base": 501}}, "pending": ["b", "d"], "windows": {}}
    wide = Outcome(register("a", window=12_345), ())
    assert json.loads(note({"c": wide}, record("a")))["windows"] == {"c": 13_000}


def test_a_counter_is_nowhere_if_its_whole_layout_is_pending() -> None:
    assert nowhere([RECONCILED, WAITING]) is None
    assert nowhere([RECONCILED, STUCK]) == STUCK.register
