"""Every run writes its metrics, in the form that CloudWatch reads, and makes no further call for them."""

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.metrics import NAMESPACE, OF_A_REGION, OF_ALARMS, OF_DASHBOARD, UNITS, Metrics, lost_tables
from coordinate.protocol.model import Copy, Item
from coordinate.protocol.scan import TablesScan

from tests.lambda_.coordinate import sample_records as sample
from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    delete_item,
    deploy,
    deployment,
    put_at_home,
    put_item,
    record,
    register,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import delete, recreate

NOW = 1_795_000_000


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process, and a clock that stands: what is measured is relative to it."""
    monkeypatch.setattr("coordinate.handler.METRICS", Metrics())
    monkeypatch.setattr(time, "time", lambda: NOW)


class Written:
    """What the runs have written."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def documents(self) -> list[dict[str, Any]]:
        """Return the documents of the last run: its line, and those of regions."""
        lines = [json.loads(line) for line in self._capsys.readouterr().err.splitlines()]
        documents = [line for line in lines if "Stack" in line]
        last = max(number for number, line in enumerate(documents) if "Run" in line)
        return documents[last:]

    def of_a_run(self) -> dict[str, Any]:
        scheduled_run()
        return self.documents()[0]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Written:
    return Written(capsys)


def values(document: Mapping[str, Any]) -> dict[str, float]:
    return {name: document[name] for name in UNITS if name in document}


def metrics(line: Mapping[str, Any]) -> set[str]:
    """Return what CloudWatch makes metrics of."""
    return {metric["Name"] for directive in line["_aws"]["CloudWatchMetrics"] for metric in directive["Metrics"]}


def seen(stack: Stack) -> Any:
    found = register(stack)
    assert found is not None
    return found


def run_after_a_grant(stack: Stack) -> None:
    deploy()
    put_at_home(stack, replace(seen(stack), granted=NOW - 100))
    scheduled_run()


def test_a_dashboard_has_metrics_of_the_stack_and_of_each_region(stack: Stack, written: Written) -> None:
    """The lines are of the embedded metric format."""
    stack.monkeypatch.setenv("DASHBOARD", "true")
    run_after_a_grant(stack)

    found = written.documents()
    assert [line.get("Region") for line in found] == [None, *sorted(REGIONS)]
    assert [metrics(line) for line in found] == [{*OF_ALARMS, *OF_DASHBOARD}, *[{*OF_A_REGION}] * 3]
    for line in found:
        assert line["_aws"]["Timestamp"] == NOW * 1000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["timestamp"])
        assert (line["level"], line["Stack"]) == ("INFO", os.environ["STACK"])
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == NAMESPACE
        assert directive["Dimensions"] == [["Stack", "Region"] if "Region" in line else ["Stack"]]
        for metric in directive["Metrics"]:
            assert isinstance(line[metric["Name"]], int | float)
            assert metric["Unit"] == UNITS[metric["Name"]]


def test_alarms_need_few_metrics_and_the_line_says_all(stack: Stack, written: Written) -> None:
    run_after_a_grant(stack)

    (line,) = written.documents()
    assert metrics(line) == {*OF_ALARMS}
    assert line.keys() >= {*OF_ALARMS, *OF_DASHBOARD, "Counters", "Run", "Failed", "pending", "lost", "repaired"}
    assert {region: pace.keys() for region, pace in line["regions"].items()} == {key: {*OF_A_REGION} for key in REGIONS}


def test_a_quiet_run_reports_no_problem(stack: Stack, written: Written) -> None:
    assert values(written.of_a_run()) == {"Repairs": 0, "FailedRuns": 0}, "nothing is deployed"
    deploy(counters=["a", "b", "-check"])

    found = written.of_a_run()
    none = ("UnfinishedSeconds", "PendingRegions", "LostTables", "Repairs", "FailedRuns")
    assert values(found) == dict.fromkeys(none, 0)
    assert (found["Run"], found["Failed"], found["Counters"]) == ("schedule", 0, 2)


def test_a_second_run_measures_the_time_between(stack: Stack, ask: Ask, written: Written) -> None:
    deploy()
    scheduled_run()
    for _ in range(3):
        ask("POST", "/?count=100", HOME)
    stack.monkeypatch.setattr(time, "time", lambda: NOW + 300)

    line = written.of_a_run()
    assert line["regions"][HOME]["IntegersPerSecond"] == 1
    assert line["regions"]["eu-west-1"]["IntegersPerSecond"] == 0
    assert line["WindowLeft"] == line["regions"][HOME]["WindowLeft"] == 100


def test_a_lost_table_is_told_until_it_is_mended(stack: Stack, written: Written) -> None:
    deploy()
    for region, table in (("eu-west-1", "an item"), ("eu-west-1", "counters"), (HOME, "layouts"), (HOME, "mirror")):
        if table == "an item":
            delete_item(stack, region)
        else:
            recreate(stack, region, table)
        found, then = written.of_a_run(), written.of_a_run()
        lost = f"home {table}" if region == HOME else f"{region} counters"
        assert (found["LostTables"], found["lost"], found["repaired"]) == (1, [lost], ["integers"])
        assert (then["LostTables"], found["Repairs"], then["Repairs"]) == (0, 1, 0)

    delete(stack, "eu-west-1", stack.counters)
    assert [written.of_a_run()["lost"] for _ in range(2)] == [["eu-west-1 counters"]] * 2


def test_what_was_asked_for_and_a_raised_limit_are_no_repair(stack: Stack, written: Written) -> None:
    for regions in ([HOME], [HOME, "eu-west-1"], ["eu-west-1"]):
        deploy(*regions, counters=["a", "b"], window=1000)
        found = written.documents()[0]
        assert (found["Repairs"], found["LostTables"], found["Failed"]) == (0, 0, 0)
        assert (found["Run"], found["Counters"], found["UnfinishedSeconds"]) == ("deployment", 2, 0)

    create("invoices")
    found = written.documents()[0]
    assert values(found) == {"UnfinishedSeconds": 0, "Repairs": 0}, "it doesn't prove that the schedule runs"
    assert (found["Run"], found["Failed"], metrics(found)) == ("creation", 0, {"UnfinishedSeconds"})

    put_item(stack, "eu-west-1", Item(900, 1, 1000, 1), "invoices")
    assert written.of_a_run()["Repairs"] == 0
    raised = register(stack, "invoices")
    assert raised is not None
    assert raised.limit > 1000


def test_a_change_that_is_not_finished_grows_old(stack: Stack, written: Written) -> None:
    deploy()
    put_at_home(stack, replace(record(stack), reconciled=False, requested=NOW - 1000))
    put_at_home(stack, replace(seen(stack), granted=0))  # so that something is left to do
    stack.monkeypatch.setattr("coordinate.handler.RESERVE", 10**9)

    found = written.of_a_run()
    assert (found["UnfinishedSeconds"], found["Failed"]) == (1000, 0)


def test_a_region_that_is_unreachable_is_pending(stack: Stack, written: Written) -> None:
    deploy(HOME)
    delete(stack, "us-west-2", stack.counters)
    deploy(HOME, "us-west-2")

    found = written.documents()[0]
    assert (found["PendingRegions"], found["pending"]) == (1, ["us-west-2"])
    assert found["LostTables"] == 0, "it was never given anything"


@pytest.mark.parametrize(
    ("event", "kind", "failed"),
    [({"schedule": True}, "schedule", 1), ({"create": ["orders"]}, "creation", None), (None, "deployment", 0)],
)
def test_a_run_that_fails_says_so(
    event: dict[str, Any] | None, kind: str, failed: int | None, stack: Stack, written: Written
) -> None:
    deploy()
    event = event or deployment()
    delete(stack, HOME, stack.layouts)

    with pytest.raises(CoordinatorError):
        send(event)
    found = written.documents()[0]
    assert (found["Failed"], found["Run"], found.get("FailedRuns")) == (1, kind, failed)
    assert ("_aws" in found) == ("FailedRuns" in found), "a line without metrics isn't of the format"


def test_a_copy_of_a_deleted_counter_is_no_lost_table() -> None:
    register = sample.register("a")
    for regions, lost in ((("a",), ["home layouts"]), ((), [])):
        copy = Copy(replace(register, regions=regions, ids=()), "mirror 1")
        scan = TablesScan(registers={"d": register}, copies={"c": copy}, layouts_id="layouts 1", mirror_id="mirror 1")
        scan = scan._replace(items={"a": {"d": sample.items_of(register)["a"]}}, ids={"a": "a 1"})
        assert lost_tables(scan, None) == lost
