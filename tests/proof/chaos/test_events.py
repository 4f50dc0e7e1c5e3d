"""What an event expects of counters while regions change, with a stack that only has registers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from global_integers_core.lattice import Layout
from proof.chaos.events import MOST_SKIPPED, Events
from proof.chaos.history import History
from proof.chaos.proxy import BY_CHANCE, DynamoDBCall, Proxy, Write
from proof.chaos.stack import BULK, COUNTERS, REGIONS, SETTINGS, Stack

LAST = 1600
"""The last integer that was minted of every counter."""


@dataclass
class Registers(Stack):
    """A stack of which each deployment begins an epoch and skips so many integers of each region."""

    skipping: int = 0
    answers: bool = True
    met: list[str] = field(default_factory=list[str])
    """The faults at the last deployment."""
    epoch: int = 1

    def deploy_once(self, settings: Mapping[str, Any], kill_after: float | None = None) -> None:
        self.met = [fault.name for fault in self.proxy.faults]
        self.epoch += 1
        if not self.answers:
            self.proxy.given_up.append(DynamoDBCall(REGIONS[0], "GetItem", {}))

    def scheduled_run(self) -> dict[str, Any]:
        return {}

    def layouts(self) -> dict[str, Layout]:
        base = LAST + 3 * self.skipping + 1 if self.epoch > 1 else 1
        return {counter: Layout(self.epoch, base, REGIONS[:3]) for counter in (*COUNTERS, BULK)}


@pytest.mark.parametrize(
    ("skipping", "answers", "problems"), [(MOST_SKIPPED, True, 0), (MOST_SKIPPED + 1, True, 2), (20_000, False, 0)]
)
def test_a_hot_item_may_cost_its_own_counter_only(skipping: int, answers: bool, problems: int) -> None:
    """Where the machine was so busy that a region answers too late, nothing is expected."""
    nothing: Any = None
    proxy = Proxy(Random(0))
    proxy.writes = [Write(REGIONS[0], counter, range(LAST, LAST + 1), 0, 1) for counter in (*COUNTERS, BULK)]
    desired = {**SETTINGS, "regions": list(REGIONS[:3])}
    stack = Registers(Path(), nothing, proxy, nothing, History(), print, desired, skipping=skipping, answers=answers)
    events = Events(stack, Random(1))

    events.happen("hot_item")

    assert stack.met == ["throttled", "delayed"], "and nothing by chance"
    assert proxy.faults == list(BY_CHANCE.values()), "the others end with the event"
    assert events.skipped == [skipping] * (2 if answers else 0)
    assert len({problem.partition(":")[0] for problem in events.problems}) == len(events.problems) == problems
