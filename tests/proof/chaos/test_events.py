"""What an event expects of counters while regions change, with a stack that only has registers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from global_integers_core.lattice import Layout
from proof.chaos.__main__ import by_region
from proof.chaos.events import MOST_SKIPPED, Events
from proof.chaos.history import History
from proof.chaos.proxy import BY_CHANCE, MINTS, DynamoDBCall, Proxy, Write
from proof.chaos.stack import BULK, COUNTERS, REGIONS, SETTINGS, Stack
from proof.faulty_server import Fault, Request

LAST = 1600
"""The last integer that was minted of every counter."""


@dataclass
class Registers(Stack):
    """A stack of which each deployment begins an epoch, `skipping` that many integers of each region."""

    skipping: Mapping[str, int] = field(default_factory=dict[str, int])
    answers: bool = True
    met: list[list[Fault]] = field(default_factory=list[list[Fault]])
    """The faults at each deployment."""
    epoch: int = 1

    def deploy_once(self, settings: Mapping[str, Any], kill_after: float | None = None) -> None:
        self.met.append(list(self.proxy.faults))
        self.epoch += 1
        if not self.answers:
            self.proxy.given_up.append(DynamoDBCall(REGIONS[0], "GetItem", {}))

    def scheduled_run(self) -> dict[str, Any]:
        return {}

    def layouts(self) -> dict[str, Layout]:
        bases = {counter: LAST + 3 * skipped + 1 for counter, skipped in self.skipping.items()}
        return {counter: Layout(self.epoch, bases[counter] if self.epoch > 1 else 1, REGIONS[:3]) for counter in bases}


def events_with(skipping: Mapping[str, int], *, answers: bool = True) -> Events:
    proxy = Proxy(Random(0))
    proxy.writes = [Write(REGIONS[0], counter, range(LAST, LAST + 1), 0, 1) for counter in skipping]
    desired = {**SETTINGS, "regions": list(REGIONS[:3])}
    nothing: Any = None
    stack = Registers(Path(), nothing, proxy, nothing, History(), print, desired, skipping=skipping, answers=answers)
    return Events(stack, Random(1))


def write_to(region: str, counter: str) -> Request:
    """Return the coordinator's write to a counter's item."""
    scope = f"Authorization: Credential=key/20260101/{region}/dynamodb/aws4_request"
    head = f"POST / HTTP/1.1\r\n{scope}\r\nX-Amz-Target: DynamoDB_20120810.UpdateItem\r\n\r\n"
    return Request(head.encode(), json.dumps({"TableName": "x-counters", "Key": {"counter": {"S": counter}}}).encode())


def test_a_hot_item_may_cost_its_own_counter_only() -> None:
    events = events_with(dict.fromkeys([*COUNTERS, BULK], 20_000))

    events.happen("hot_item")

    ((hot, slow), *_) = cast("Registers", events.stack).met  # and nothing by chance
    assert (hot.name, slow.name, slow.region) == ("throttled", "delayed", hot.region)
    (struck,) = (counter for counter in COUNTERS if hot.matches(write_to(hot.region, counter)))
    others = sorted({*COUNTERS, BULK} - {struck})
    assert events.problems == [
        f"{counter}: each region skipped 20,000 integers, though all answered" for counter in others
    ]
    assert events.happened == {"hot_item": 1}


def test_each_region_may_skip_what_it_mints_in_ten_seconds() -> None:
    events = events_with({"integers": MOST_SKIPPED, "orders": MOST_SKIPPED, BULK: MOST_SKIPPED})

    events.happen("hot_item")

    assert events.problems == []
    assert events.skipped == [MOST_SKIPPED, MOST_SKIPPED]
    assert events.stack.proxy.faults == list(BY_CHANCE.values()), "the others end with the event"


def test_where_a_region_answers_too_late_nothing_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    events = events_with(dict.fromkeys([*COUNTERS, BULK], 20_000), answers=False)

    events.happen("hot_item")

    assert (events.problems, events.skipped) == ([], [])
    assert "a region answered too late" in capsys.readouterr().out


def test_a_failure_where_nothing_struck_is_a_problem_unless_the_machine_was_too_busy() -> None:
    events = events_with({BULK: 0})
    events.stay = REGIONS[:3]
    events.struck[REGIONS[2]] = ["cut_off"]
    for region in (*events.stay, REGIONS[3]):
        events.stack.history.failed(region, "status 503: why")
    events.stay = REGIONS[:4]
    mint = {"TableName": "x-counters", "UpdateExpression": f"{MINTS} :step"}
    events.stack.proxy.given_up += [DynamoDBCall(region, "UpdateItem", mint) for region in (REGIONS[1], REGIONS[3])]
    events.stack.history.failed(REGIONS[3], "status 500: a bug")

    lines = list(by_region(events))

    assert events.problems == [
        f"{REGIONS[0]}: nothing struck it, but clients saw failures: 1 status 503: why",
        f"{REGIONS[3]}: nothing struck it, but clients saw failures: 1 status 500: a bug, 1 status 503: why",
    ]
    assert f"| {REGIONS[2]} (cut_off) | 1 | 1 | 0.0 s |" in lines
    assert f"{REGIONS[1]}: the machine was so busy that 1 mints had given up when DynamoDB answered" in lines
