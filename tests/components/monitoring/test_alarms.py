"""Each alarm goes off for what it is about, and for nothing else: evaluated over series that AWS could have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from coordinate.metrics import RunStatistics, documents
from coordinate.protocol.model import Item
from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult
from coordinate.protocol.scan import TablesScan

from components.monitoring.alarms import ALARMS
from tests.components.aws_answers import ALARM
from tests.components.monitoring.evaluation import MINUTE, AlarmData, Series, fires, histories
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, config, deploy
from tests.lambda_.coordinate.sample_records import items_of, record, register

OTHER = "eu-west-1"
EVERY = 5
COUNTERS = {"TableName": f"{PREFIX}-counters"}
FUNCTION = {"FunctionName": f"{PREFIX}-mint"}


def alarm(deployment: Deployment, key: str, region: str = HOME) -> dict[str, Any]:
    return deployment.one(ALARM, name=f"{PREFIX}-{key}", region=region).inputs


def counted(metric: str, by_minute: Mapping[int, float], region: str = OTHER) -> Series:
    """Return a metric of a region's function, or of its table, by minutes."""
    series = Series()
    where = ("AWS/DynamoDB", COUNTERS) if metric == "WriteThrottleEvents" else ("AWS/Lambda", FUNCTION)
    for minute, value in by_minute.items():
        series.put(region, where[0], metric, where[1], minute * MINUTE, value)
    return series


def runs(*ended: tuple[float, RunStatistics], kind: str = "schedule", failed: bool = False) -> Series:
    """Return the metrics of runs that end at these minutes."""
    series = Series()
    for minute, statistics in ended:
        statistics.kind, statistics.failed = kind, failed
        series.read(HOME, documents(statistics, minute * MINUTE, None))
    return series


def schedule(*minutes: float, failed: bool = False, kind: str = "schedule") -> Series:
    return runs(
        *((minute, RunStatistics(PREFIX, "schedule", RunResult())) for minute in minutes), kind=kind, failed=failed
    )


def both(*series: Series) -> Series:
    together = Series()
    for one in series:
        for key, points in one.points.items():
            together.points.setdefault(key, []).extend(points)
    return together


def changing(asked: float, minute: float, *, reconciled: bool = False) -> tuple[float, RunStatistics]:
    """Return a run at a minute, in which a change is unfinished that was asked for at another."""
    statistics = RunStatistics(PREFIX, "schedule", RunResult())
    statistics.result.record = replace(record("a"), requested=int(asked * MINUTE), reconciled=reconciled)
    return minute, statistics


def looking(minute: float, *, used: int = 0, window: int = 10**6, lost: bool = False) -> tuple[float, RunStatistics]:
    """Return a run at a minute, from 20, that sees one region, which has minted so much since its grant."""
    seconds = 1000
    found = register("a", base=1, limit=window, window=window, granted=int(minute * MINUTE - seconds))
    item = items_of(found)["a"]
    items = {"a": {"c": Item(item.issued + used, 1, item.ceiling, item.epoch)}}
    ids = {"a": "another" if lost else "a 1"}
    scan = TablesScan({"c": found}, {}, items, ids, layouts_id="layouts 1", at=int(minute * MINUTE))
    return minute, RunStatistics(PREFIX, "schedule", RunResult(outcomes={"c": Outcome(found, ())}, scan=scan))


BURST = {3: 1000.0}
"""One bad minute."""
TWO_BURSTS = {3: 1000.0, 23: 1000.0}
"""Two of them, with nothing in between."""
LASTING = dict.fromkeys(range(1, 40), 3.0)
DRIPPING = dict.fromkeys(range(1, 40), 1.0)
"""Less than the threshold, for ever."""


def hanging(*minutes: int, reconciled: int = 100) -> Series:
    """Return runs at these minutes, in which a change of minute 0 is unfinished until a minute."""
    return runs(*(changing(0, minute, reconciled=minute >= reconciled) for minute in minutes))


def used(*amounts: int) -> Series:
    """Return runs from minute 20 on that see so much used of a window of a million."""
    return runs(*(looking(20 + EVERY * number, used=amount) for number, amount in enumerate(amounts)))


ON_TIME = range(5, 100, EVERY)
CASES: list[tuple[str, Series, bool]] = [
    ("errors", counted("Url5xxCount", LASTING), True),
    ("errors", counted("Url5xxCount", BURST), False),
    ("errors", counted("Url5xxCount", TWO_BURSTS), False),
    ("errors", counted("Url5xxCount", DRIPPING), False),
    ("errors", counted("Url5xxCount", LASTING, HOME), False),
    ("errors", counted("Url4xxCount", LASTING), False),
    ("errors", Series(), False),
    ("throttles", counted("Throttles", LASTING), True),
    ("throttles", counted("Throttles", DRIPPING), False),
    ("tableThrottles", counted("WriteThrottleEvents", LASTING), True),
    ("tableThrottles", counted("WriteThrottleEvents", DRIPPING), False),
    ("tableThrottles", counted("WriteThrottleEvents", TWO_BURSTS), False),
    ("unfinished", hanging(5, 10, 15, 20), True),
    ("unfinished", hanging(5, 10, 15), False),
    ("unfinished", hanging(*range(5, 60, EVERY), reconciled=15), False),
    ("unfinished", runs(*(changing(minute - 5, minute) for minute in range(5, 60, EVERY))), False),  # each is young
    ("unfinished", schedule(*range(5, 60, EVERY)), False),
    ("ceiling", used(800_000, 900_000, 1_000_000, 1_000_000), True),
    ("ceiling", used(740_000, 740_000, 740_000, 740_000), False),
    ("ceiling", used(0, 900_000, 0, 0), False),
    ("lostTables", runs(looking(20), looking(25, lost=True), looking(30)), True),
    ("lostTables", runs(looking(20), looking(25), looking(30)), False),
    ("failedRuns", schedule(5, 10, failed=True), True),
    ("failedRuns", both(schedule(5, 15, failed=True), schedule(10, 20)), True),
    ("failedRuns", both(schedule(10, failed=True), schedule(5, 15, 20)), False),
    ("failedRuns", both(schedule(5, 35, failed=True), schedule(10, 15, 20, 25, 30)), False),
    ("failedRuns", schedule(5, 10, 15, failed=True, kind="deployment"), False),
    ("failedRuns", Series(), False),
    ("noRun", schedule(*ON_TIME), False),
    ("noRun", schedule(*ON_TIME, failed=True), False),
    ("noRun", schedule(5, 10, 15, 30, 35, *range(40, 100, EVERY)), False),  # two are missed
    ("noRun", both(schedule(5), schedule(*ON_TIME, kind="creation")), True),
    ("noRun", Series(), True),
]


@pytest.mark.parametrize(("key", "series", "goes_off"), CASES)
def test_an_alarm_goes_off_for_what_it_is_about(key: str, series: Series, goes_off: bool, signed: Deployment) -> None:
    region = OTHER if ALARMS[key].every_region else HOME

    assert fires(alarm(signed, key, region), series, 90, start=EVERY) == goes_off
    assert {case[0] for case in CASES} == ALARMS.keys() - {"latency"}, "which is below"


@pytest.mark.parametrize(
    ("key", "series", "since", "until", "over"),
    [
        ("errors", counted("Url5xxCount", LASTING), 10, 40, 54),
        ("tableThrottles", counted("WriteThrottleEvents", LASTING), 10, 40, 54),
        ("unfinished", hanging(5, 10, 15, 20, 40, reconciled=40), 20, 40, 40),  # no run in between ends it
        ("lostTables", runs(looking(20), looking(25, lost=True), looking(30)), 25, 30, 31),
        ("noRun", schedule(5, 60), 5 + 3 * EVERY + 5, 60, 60),
    ],
)
def test_an_alarm_lasts_until_it_is_mended(
    key: str, series: Series, since: int, until: int, over: int, signed: Deployment
) -> None:
    region = OTHER if ALARMS[key].every_region else HOME
    for states in histories(alarm(signed, key, region), series, 70, start=EVERY):
        assert "ALARM" not in states[: since - 1 - EVERY]
        assert set(states[since - EVERY : until - EVERY]) == {"ALARM"}
        assert set(states[over - EVERY :]) == {"OK"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("each_minute", "share", "goes_off"), [(300, 0.05, True), (300, 0.005, False), (100, 0.05, False)]
)
def test_a_region_is_slow_by_one_in_a_hundred_requests(
    each_minute: int, share: float, goes_off: bool, signed: Deployment
) -> None:
    """So many requests each minute, of which a share takes two seconds and the others 20 ms."""
    series = Series()
    for minute in range(1, 31):
        for number in range(each_minute):
            late = number < each_minute * share
            at = minute * MINUTE - MINUTE * number / each_minute
            series.put(OTHER, "AWS/Lambda", "Duration", FUNCTION, at, 2000 if late else 20)

    assert fires(alarm(signed, "latency", OTHER), series, 30) == goes_off


@pytest.mark.long
@pytest.mark.parametrize("minutes", [1, 17, 60])
def test_a_quiet_stack_wakes_nobody(minutes: int) -> None:
    quiet = runs(*(looking(minute) for minute in range(minutes * 20, minutes * 40, minutes)))

    for made in registered(minutes):
        for states in histories(made, quiet, minutes * 40, start=minutes * 20):
            assert "ALARM" not in states, made["name"]


def registered(minutes: int, **thresholds: int) -> list[dict[str, Any]]:
    """The alarms of one region as they are registered, where the schedule runs so often."""
    return [made.inputs for made in deploy(config(HOME, scheduleMinutes=minutes, alarms=thresholds)).of(ALARM)]


@pytest.mark.parametrize("minutes", [1, 5, 60])
def test_cloudwatch_takes_every_period(minutes: int) -> None:
    """API reference, PutMetricAlarm: multiples of 60; below an hour at most one day altogether, above it seven."""
    for made in registered(minutes, noRun=1440, failedRuns=10):
        period = AlarmData.of(made).period
        whole = period * made["evaluationPeriods"]
        assert period % 60 == 0
        assert whole <= (86_400 if period < 3600 else 604_800)
        assert 1 <= made["datapointsToAlarm"] <= made["evaluationPeriods"]
