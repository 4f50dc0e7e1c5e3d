"""So many counters fit into a deployment: what the coordinator then stores and replies is within AWS's limits."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from coordinate.dynamodb.encoding import attributes_of
from coordinate.protocol.model import Copy, DeploymentRecord, Register, desired_state_of
from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult, note, reply

from components.settings import LABEL, MAX_EPOCH, MAX_RECORD, MAX_REPLY, Settings, SettingsError, fitting, settings_of
from components.settings import desired_state_of as desired_state_of_settings
from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from components.settings.values import canonical
from global_integers_core.lattice import MAX_INTEGER
from local.paths import ROOT
from tests.components.running import HOME

ALL = [region for region, partition in partitions().items() if partition == "aws" and region != HOME]
FEW, MANY = ["eu-west-1", "ap-southeast-2"], [region for region in ALL if region not in WITHOUT_FUNCTION_URLS]
ID = "3f2b1c9a-8d47-4e51-9c0b-7a6d5e4f3b21"
"""As long as any table's."""
ANSWER = {"loss": f"loss-{'f' * 16}-{10**9}", "above": MAX_INTEGER}


def named(count: int, length: int) -> list[str]:
    return [f"{number:0{length}}" for number in range(count)]


def accepted(regions: Sequence[str], counters: Sequence[str]) -> Settings:
    more = {"home": HOME, "regions": regions, "leaving": [HOME], "counters": counters, "default_counter": counters[0]}
    return settings_of({**more, "floors": {"*": 2**52}, "recovery": ANSWER}, "integers-test")


def refused(regions: Sequence[str], counters: Sequence[str]) -> str:
    with pytest.raises(SettingsError) as error:
        accepted(regions, counters)
    _, line = str(error.value).splitlines()
    return line.strip()


def at_worst(settings: Settings) -> tuple[DeploymentRecord, dict[str, Outcome]]:
    """The record of these settings, and what became of each counter: every number is the largest there is."""
    regions = (*settings.regions, *settings.leaving)
    home = f"{settings.home} {LABEL}"
    desired = {
        **desired_state_of_settings(settings),
        "tableLabels": dict.fromkeys(regions, LABEL),
        "layoutsLabel": home,
        "firstLayoutsLabel": home,
    }
    own, ids, token = tuple(settings.regions), tuple(ID for _ in settings.regions), f"{'f' * 16}/999"
    register = Register("", ID, MAX_EPOCH, own, ids, MAX_INTEGER, MAX_INTEGER, window=10**12, granted=10**10)
    outcomes = {
        counter: Outcome(replace(register, counter=counter), regions, created=True) for counter in desired["counters"]
    }
    record = DeploymentRecord(ID, token, MAX_INTEGER, token, 10**10, desired_state_of(canonical(desired)))
    record = replace(record, reconciled=True, first_epoch=MAX_EPOCH, first_base=MAX_INTEGER)
    record = replace(record, answered=ANSWER["loss"], above=MAX_INTEGER)
    return replace(record, report=note(outcomes, record)), outcomes


def stored(record: DeploymentRecord) -> int:
    """The size of the record's copy, which is the larger one (DynamoDB guide, "DynamoDB item sizes and formats")."""
    attributes = attributes_of(Copy(record, ID))
    numbers = sum(21 for value in attributes.values() if "N" in value)
    booleans = sum(1 for value in attributes.values() if "BOOL" in value)
    texts = [*attributes, *(value["S"] for value in attributes.values() if "S" in value)]
    return numbers + booleans + sum(len(text.encode()) for text in texts)


@pytest.mark.long
@pytest.mark.parametrize(("regions", "length"), [(FEW, 7), (FEW, 63), (MANY, 7)], ids=["short", "long", "many regions"])
def test_the_most_counters_that_are_accepted_fit(regions: list[str], length: int) -> None:
    line = refused(regions, named(8000, length))
    assert line.startswith("counters: 8,000 counters; the first ")
    assert "docs/tasks.md#create-a-counter-without-a-deployment" in line
    most = int(line.split("the first ")[1].split()[0].replace(",", ""))
    assert refused(regions, named(most + 1, length)).startswith(
        f"counters: {most + 1:,} counters; the first {most:,} of"
    )
    record, outcomes = at_worst(accepted(regions, named(most, length)))

    size = stored(record)
    answer = len(json.dumps(reply(RunResult(outcomes=outcomes, reported=record.desired.counters))))
    assert size <= MAX_RECORD
    assert answer <= MAX_REPLY
    assert size > 0.99 * MAX_RECORD or answer > 0.99 * MAX_REPLY, "no more are refused than must be"


def test_many_counters_are_refused_at_once() -> None:
    """Were each name compared with all others, this would take minutes."""
    before = time.process_time()

    assert refused(FEW, named(100_000, 7)).startswith("counters: 100,000 counters; the first ")
    assert time.process_time() - before < 30


def test_floors_that_leave_no_room_are_named() -> None:
    more = {"home": HOME, "regions": FEW, "floors": dict.fromkeys(named(10_000, 40), 1)}
    with pytest.raises(SettingsError, match=r"floors: 10,000 floors leave no room for a counter .* can be removed"):
        settings_of(more, "integers-test")


def test_the_page_says_how_many_fit() -> None:
    table = re.findall(
        r"^\| (\d+) \| ([\d,]+) \| ([\d,]+) \|$", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE
    )
    regions = [HOME, *FEW], [HOME, *MANY][:20]
    found = {
        length: [f"{room(few_or_many, int(length)) // 100 * 100:,}" for few_or_many in regions] for length, *_ in table
    }

    assert len(regions[1]) == 20
    assert {length: said for length, *said in table} == found


def room(regions: Sequence[str], length: int) -> int:
    settings = settings_of({"home": HOME, "regions": regions}, "integers-test")
    return fitting(replace(settings, counters=tuple(named(8000, length))))
