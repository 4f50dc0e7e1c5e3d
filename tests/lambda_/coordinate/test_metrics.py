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
from coordinate.metrics import (
    NAMESPACE,
    OF_A_REGION,
    OF_ALARMS,
    OF_DASHBOARD,
    UNITS,
    Metrics,
    RunStatistics,
    lost_tables,
)
from coordinate.protocol.model import Copy, Item
from coordinate.protocol.scan import TablesScan

from tests.lambda_.coordinate import sample_records as sample
from tests.lambda_.coordinate.interrupted_runs import recorded
from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    delete_item,
    deploy,
    deployment,
    laid_out,
    make_table,
    put_item,
    put_record,
    put_register,
    record,
    register,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack


class Unwritten(Metrics):
    def write(self, statistics: RunStatistics) -> None:
        pass


NOW = 1_795_000_000


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process, and a clock that stands: what is measured is relative to it."""
    monkeypatch.setattr("coordinate.handler.METRICS", Metrics())
    monkeypatch.setattr(time, "time", lambda: NOW)


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the documents of the last run: its line, and those of regions."""
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    documents = [line for line in lines if "Stack" in line]
    last = max(number for number, line in enumerate(documents) if "Run" in line)
    return documents[last:]


def values(document: Mapping[str, Any]) -> dict[str, float]:
    return {name: document[name] for name in UNITS if name in document}


def metrics(line: Mapping[str, Any]) -> set[str]:
    """Return what CloudWatch makes metrics of."""
    return {metric["Name"] for directive in line["_aws"]["CloudWatchMetrics"] for metric in directive["Metrics"]}


@pytest.fixture
def dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD", "true")


def run_after_a_grant(stack: Stack) -> None:
    laid_out()
    put_register(stack, replace(seen(stack), granted=NOW - 100))
    scheduled_run()


@pytest.mark.usefixtures("dashboard")
def test_the_lines_are_of_the_embedded_metric_format(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    run_after_a_grant(stack)

    found = written(capsys)

    assert [line.get("Region") for line in found] == [None, *sorted(REGIONS)]
    for line in found:
        assert line["_aws"]["Timestamp"] == NOW * 1000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["timestamp"])
        assert line["level"] == "INFO"
        for directive in line["_aws"]["CloudWatchMetrics"]:
            assert directive["Namespace"] == NAMESPACE
            for names in directive["Dimensions"]:
                assert all(isinstance(line[name], str) for name in names)
            for metric in directive["Metrics"]:
                assert isinstance(line[metric["Name"]], int | float)
                assert metric["Unit"] == UNITS[metric["Name"]]


@pytest.mark.usefixtures("dashboard")
def test_a_dashboard_has_six_metrics_and_two_for_each_region(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    run_after_a_grant(stack)

    of_stack, *of_regions = written(capsys)

    assert metrics(of_stack) == {*OF_ALARMS, *OF_DASHBOARD}
    assert of_stack["Stack"] == os.environ["STACK"]
    assert [directive["Dimensions"] for directive in of_stack["_aws"]["CloudWatchMetrics"]] == [[["Stack"]]]
    assert [metrics(line) for line in of_regions] == [{*OF_A_REGION}] * 3
    assert [line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] for line in of_regions] == [[["Stack", "Region"]]] * 3


def test_alarms_need_four_metrics_and_the_line_says_all(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    run_after_a_grant(stack)

    (line,) = written(capsys)

    assert metrics(line) == {*OF_ALARMS}
    assert line.keys() >= {*OF_ALARMS, *OF_DASHBOARD, "Counters", "Run", "Failed", "pending", "lost", "repaired"}
    assert {region: pace.keys() for region, pace in line["regions"].items()} == {key: {*OF_A_REGION} for key in REGIONS}


def test_a_quiet_run_reports_no_problem(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(counters=["a", "b", "-check"])
    scheduled_run()

    (found,) = written(capsys)
    none = ("UnfinishedSeconds", "PendingRegions", "LostTables", "Repairs", "FailedRuns")
    assert values(found) == dict.fromkeys(none, 0)
    assert (found["Run"], found["Failed"], found["Counters"]) == ("schedule", 0, 2)


def test_metrics_cost_no_call(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()

    def run() -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            operations = recorded(patch)
            scheduled_run()
        return sorted(map(str, operations))

    with_metrics = run()
    monkeypatch.setattr("coordinate.handler.METRICS", Unwritten())
    assert run() == with_metrics


def test_a_second_run_measures_the_time_between(
    stack: Stack, ask: Ask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    scheduled_run()
    for _ in range(3):
        ask("POST", "/?count=100", HOME)
    monkeypatch.setattr(time, "time", lambda: NOW + 300)
    scheduled_run()

    (line,) = written(capsys)
    assert line["regions"][HOME]["IntegersPerSecond"] == 1
    assert line["regions"]["eu-west-1"]["IntegersPerSecond"] == 0
    assert line["WindowLeft"] == line["regions"][HOME]["WindowLeft"] == 100


def test_a_lost_item_is_a_lost_table_and_one_repair(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out()
    delete_item(stack, "eu-west-1")
    scheduled_run()

    found = written(capsys)[0]
    assert (found["LostTables"], found["Repairs"], found["lost"]) == (1, 1, ["eu-west-1 counters"])
    scheduled_run()
    found = written(capsys)[0]
    assert (found["LostTables"], found["Repairs"]) == (0, 0)


def test_a_deleted_table_is_lost_until_it_is_there_again(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out()
    client = stack.aws.client("dynamodb", "eu-west-1")
    client.delete_table(TableName=stack.counters)

    for _ in range(2):
        scheduled_run()
        assert written(capsys)[0]["lost"] == ["eu-west-1 counters"]
    make_table(stack.aws, "eu-west-1", stack.counters)
    scheduled_run()
    assert written(capsys)[0]["LostTables"] == 1, "another one than it was"
    scheduled_run()
    assert written(capsys)[0]["LostTables"] == 0


@pytest.mark.parametrize("table", ["layouts", "mirror"])
def test_a_recreated_table_at_home_is_lost_once(table: str, stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out()
    name: str = getattr(stack, table)
    stack.aws.client("dynamodb", HOME).delete_table(TableName=name)
    make_table(stack.aws, HOME, name)

    scheduled_run()
    found = written(capsys)[0]
    assert (found["lost"], found["repaired"]) == ([f"home {table}"], ["integers"])
    scheduled_run()
    assert written(capsys)[0]["LostTables"] == 0


def test_what_a_deployment_asked_for_is_no_repair(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    for regions in ([HOME], [HOME, "eu-west-1"], ["eu-west-1"]):
        deploy(*regions, counters=["a", "b"])
        found = written(capsys)[0]
        assert (found["Repairs"], found["LostTables"], found["Failed"]) == (0, 0, 0)
        assert (found["Run"], found["Counters"], found["UnfinishedSeconds"]) == ("deployment", 2, 0)


def test_a_created_counter_and_a_raised_limit_are_no_repair(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(window=1000)
    create("invoices")
    found = written(capsys)[0]
    assert values(found) == {"UnfinishedSeconds": 0, "Repairs": 0}, "it doesn't prove that the schedule runs"
    assert (found["Run"], found["Failed"]) == ("creation", 0)
    assert metrics(found) == {"UnfinishedSeconds"}

    item = Item(-2 + 3 * 900, 3, 3000 - 2, 1)
    put_item(stack, HOME, item)
    scheduled_run()
    assert "granted" in str(seen(stack))
    assert written(capsys)[0]["Repairs"] == 0
    assert seen(stack).limit > 3000


def test_a_change_that_is_not_finished_grows_old(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out()
    put_item(stack, "us-west-2", Item(50, 1, 90, 7))
    put_record(stack, replace(record(stack), reconciled=False, requested=NOW - 1000))
    put_register(stack, replace(seen(stack), granted=0))  # so that something is left to do
    stack.monkeypatch.setattr("coordinate.handler.RESERVE", 10**9)
    scheduled_run()

    found = written(capsys)[0]
    assert found["UnfinishedSeconds"] == 1000
    assert found["Failed"] == 0


def test_a_region_that_is_unreachable_is_pending(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(HOME)
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    stack.aws.client("dynamodb", "us-west-2").delete_table(TableName=stack.counters)
    deploy(HOME, "us-west-2")

    found = written(capsys)[0]
    assert (found["PendingRegions"], found["pending"]) == (1, ["us-west-2"])
    assert found["LostTables"] == 0, "it was never given anything"


@pytest.mark.parametrize(
    ("event", "kind"),
    [({"schedule": True}, "schedule"), ({"create": ["orders"]}, "creation"), (None, "deployment")],
)
def test_a_run_that_fails_says_so(
    event: dict[str, Any] | None, kind: str, stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    laid_out()
    event = event or deployment()
    stack.aws.client("dynamodb", HOME).delete_table(TableName=stack.layouts)
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.RETRY_SECONDS", 0)

    with pytest.raises(CoordinatorError):
        send(event)
    found = written(capsys)[0]
    assert (found["Failed"], found["Run"]) == (1, kind)
    assert found.get("FailedRuns") == {"schedule": 1, "deployment": 0, "creation": None}[kind]
    assert ("_aws" in found) == ("FailedRuns" in found), "a line without metrics isn't of the format"


def test_a_refused_counter_fails_the_run_and_all_else_is_told(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(counters=["a", "b"])
    put_item(stack, HOME, Item(50, 1, 90, 7), "a")

    with pytest.raises(CoordinatorError):
        scheduled_run()
    found = written(capsys)[0]
    assert (found["Failed"], found["Counters"], found["PendingRegions"]) == (1, 2, 0)


def test_runs_that_give_way_or_find_nothing_are_runs_too(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    scheduled_run()
    assert values(written(capsys)[0]) == {"Repairs": 0, "FailedRuns": 0}


def seen(stack: Stack) -> Any:
    found = register(stack)
    assert found is not None
    return found


def test_a_copy_that_a_deletion_has_yet_to_delete_is_no_lost_table() -> None:
    register = sample.register("a")
    for regions, lost in ((("a",), ["home layouts"]), ((), [])):
        copy = Copy(replace(register, regions=regions, ids=()), "mirror 1")
        scan = TablesScan(registers={"d": register}, copies={"c": copy}, layouts_id="layouts 1", mirror_id="mirror 1")
        scan = scan._replace(items={"a": {"d": sample.items_of(register)["a"]}}, ids={"a": "a 1"})
        assert lost_tables(scan, None) == lost
