"""Each alarm goes off for what it is about, and for nothing else: evaluated over series that AWS could have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
import pytest
from coordinate.metrics import RunStatistics, documents
from coordinate.protocol.model import Item
from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult
from coordinate.protocol.scan import TablesScan

from components.monitoring import Monitoring
from components.monitoring.alarms import ALARMS
from tests.components.aws_answers import ALARM
from tests.components.monitoring.evaluation import (
    MINUTE,
    READINGS,
    AlarmData,
    Reading,
    Series,
    fires,
    histories,
    history,
    judged,
)
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, deploy, stack_metrics
from tests.lambda_.coordinate.sample_records import items_of, record, register

OTHER = "eu-west-1"
EVERY = 5
FUNCTION = {"FunctionName": f"{PREFIX}-mint"}
OF_FUNCTION = (("AWS/Lambda", "Duration", FUNCTION), ("AWS/Lambda", "UrlRequestLatency", FUNCTION))
"""A request that takes long is in both."""
API = {"AWS_IAM": {"ApiName": f"{PREFIX}-domain"}, "NONE": {"ApiId": f"integers-domain-{OTHER}-http-id"}}
"""The dimensions of the API's metrics in the other region, by who may call."""


@pytest.fixture(scope="module")
def deployment(signed: Deployment) -> Deployment:
    return signed


def alarm(deployment: Deployment, key: str, region: str = HOME) -> dict[str, Any]:
    return deployment.one(ALARM, name=f"{PREFIX}-{key}", region=region).inputs


def urls(metric: str, by_minute: Mapping[int, float], region: str = OTHER) -> Series:
    """Return a metric of a region's function, by minutes."""
    series = Series()
    for minute, value in by_minute.items():
        series.put(region, "AWS/Lambda", metric, {"FunctionName": f"{PREFIX}-mint"}, minute * MINUTE, value)
    return series


def throttled(by_minute: Mapping[int, float]) -> Series:
    series = Series()
    for minute, value in by_minute.items():
        dimensions = {"TableName": f"{PREFIX}-counters"}
        series.put(OTHER, "AWS/DynamoDB", "WriteThrottleEvents", dimensions, minute * MINUTE, value)
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


@pytest.mark.parametrize(
    ("key", "series", "goes_off"),
    [
        ("errors", urls("Url5xxCount", LASTING), True),
        ("errors", urls("Url5xxCount", BURST), False),
        ("errors", urls("Url5xxCount", TWO_BURSTS), False),
        ("errors", urls("Url5xxCount", {1: 9}), False),
        ("errors", urls("Url5xxCount", DRIPPING), False),
        ("errors", urls("Url5xxCount", LASTING, HOME), False),
        ("errors", urls("Url4xxCount", LASTING), False),
        ("errors", Series(), False),
        ("throttles", urls("Throttles", LASTING), True),
        ("throttles", urls("Throttles", DRIPPING), False),
        ("tableThrottles", throttled(LASTING), True),
        ("tableThrottles", throttled(DRIPPING), False),
        ("tableThrottles", throttled(TWO_BURSTS), False),
        ("tableThrottles", Series(), False),
    ],
)
def test_what_is_counted_in_a_region(key: str, series: Series, goes_off: bool, deployment: Deployment) -> None:
    assert fires(alarm(deployment, key, OTHER), series, 60) == goes_off


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("key", "series"), [("errors", urls("Url5xxCount", LASTING)), ("tableThrottles", throttled(LASTING))]
)
def test_it_ends_a_quarter_of_an_hour_after_the_last_bad_period(
    key: str, series: Series, reading: Reading, deployment: Deployment
) -> None:
    bad_until = max(LASTING)
    states = history(alarm(deployment, key, OTHER), series, 90, reading=reading)

    assert states[bad_until] == "ALARM"
    assert set(states[bad_until + 15 :]) == {"OK"}


def slow(each_minute: int, share: float, *metrics: tuple[str, str, dict[str, str]]) -> Series:
    """Return so many requests each minute, of which a share takes two seconds and the others 20 ms."""
    series = Series()
    for minute in range(1, 31):
        for number in range(each_minute):
            at = minute * MINUTE - MINUTE * number / each_minute
            late = number < each_minute * share
            for metric in metrics:
                series.put(OTHER, *metric, at, 2000 if late else 20)
    return series


@pytest.mark.long
@pytest.mark.parametrize(
    ("each_minute", "share", "goes_off"), [(300, 0.05, True), (300, 0.005, False), (100, 0.05, False)]
)
def test_a_region_is_slow_by_one_in_a_hundred_requests(
    each_minute: int, share: float, goes_off: bool, deployment: Deployment
) -> None:
    assert fires(alarm(deployment, "latency", OTHER), slow(each_minute, share, *OF_FUNCTION), 30) == goes_off


@pytest.fixture(params=["AWS_IAM", "NONE"])
def authorization(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def with_domain(authorization: str, signed_domain: Deployment, public_domain: Deployment) -> Deployment:
    return signed_domain if authorization == "AWS_IAM" else public_domain


@pytest.mark.parametrize(
    ("by_minute", "region", "goes_off"),
    [
        (LASTING, OTHER, True),
        (BURST, OTHER, False),
        (DRIPPING, OTHER, False),
        (LASTING, HOME, False),
        ({}, OTHER, False),
    ],
    ids=["lasting", "burst", "few", "elsewhere", "none"],
)
def test_5xx_to_callers_by_the_domain(
    by_minute: Mapping[int, float], region: str, goes_off: bool, authorization: str, with_domain: Deployment
) -> None:
    series, name = Series(), "5XXError" if authorization == "AWS_IAM" else "5xx"
    for minute, value in by_minute.items():
        series.put(region, "AWS/ApiGateway", name, API[authorization], minute * MINUTE, value)

    assert fires(alarm(with_domain, "domainErrors", OTHER), series, 60) == goes_off


@pytest.mark.long
@pytest.mark.parametrize(
    ("each_minute", "share", "goes_off"), [(300, 0.05, True), (300, 0.005, False), (100, 0.05, False)]
)
def test_a_domain_is_slow_by_the_same_rule(
    each_minute: int, share: float, goes_off: bool, authorization: str, with_domain: Deployment
) -> None:
    series = slow(each_minute, share, ("AWS/ApiGateway", "Latency", API[authorization]))

    assert fires(alarm(with_domain, "domainLatency", OTHER), series, 30) == goes_off


@pytest.mark.parametrize(
    ("series", "goes_off"),
    [
        (runs(*(changing(0, minute) for minute in range(5, 25, EVERY))), True),
        (runs(*(changing(0, minute) for minute in range(5, 20, EVERY))), False),
        (runs(*(changing(0, minute, reconciled=minute > 10) for minute in range(5, 60, EVERY))), False),
        (runs(*(changing(minute - 5, minute) for minute in range(5, 60, EVERY))), False),
        (schedule(*range(5, 60, EVERY)), False),
    ],
    ids=["hangs", "15 minutes", "finished in time", "each of them young", "nothing deployed"],
)
def test_a_change_that_hangs(series: Series, goes_off: bool, deployment: Deployment) -> None:
    assert fires(alarm(deployment, "unfinished"), series, 80) == goes_off


def test_a_change_that_hangs_is_told_until_it_is_finished(deployment: Deployment) -> None:
    hanging = [changing(0, minute) for minute in (5, 10, 15, 20)]
    series = runs(*hanging, changing(0, 40, reconciled=True))

    for states in histories(alarm(deployment, "unfinished"), series, 60):
        assert set(states[20:40]) == {"ALARM"}, "no run in between ends it"
        assert set(states[40:]) == {"OK"}


@pytest.mark.parametrize(
    ("used", "goes_off"),
    [
        ([800_000, 900_000, 1_000_000, 1_000_000], True),
        ([740_000, 740_000, 740_000, 740_000], False),
        ([0, 900_000, 0, 0], False),
        ([0, 0, 0, 0], False),
    ],
    ids=["hardly anything left", "more than a quarter", "a burst", "idle"],
)
def test_a_region_that_gets_nothing_more(used: list[int], goes_off: bool, deployment: Deployment) -> None:
    seen = (looking(minute, used=each) for each, minute in zip(used, range(20, 40, EVERY), strict=True))

    assert fires(alarm(deployment, "ceiling"), runs(*seen), 80) == goes_off


@pytest.mark.parametrize("lost", [True, False])
def test_a_lost_table_is_told_until_it_is_mended(lost: bool, deployment: Deployment) -> None:
    seen = [looking(20), looking(25, lost=lost), looking(30)]

    for states in histories(alarm(deployment, "lostTables"), runs(*seen), 60):
        assert states[26] == ("ALARM" if lost else "OK")
        assert states[31] == states[60] == "OK"


@pytest.mark.parametrize(
    ("series", "goes_off"),
    [
        (schedule(5, 10, failed=True), True),
        (both(schedule(5, 15, failed=True), schedule(10, 20)), True),
        (both(schedule(10, failed=True), schedule(5, 15, 20)), False),
        (both(schedule(5, 35, failed=True), schedule(10, 15, 20, 25, 30)), False),
        (schedule(5, 10, 15, failed=True, kind="deployment"), False),
        (schedule(5, 10, 15, failed=True, kind="creation"), False),
        (Series(), False),
    ],
    ids=["two", "two of three", "one", "far apart", "of deployments", "of creations", "no run"],
)
def test_runs_of_the_schedule_that_fail(series: Series, goes_off: bool, deployment: Deployment) -> None:
    assert fires(alarm(deployment, "failedRuns"), series, 80) == goes_off


@pytest.mark.parametrize(
    ("series", "states"),
    [
        (schedule(*range(5, 100, EVERY)), {"OK"}),
        (schedule(*range(5, 100, EVERY), failed=True), {"OK"}),
        (schedule(5, 10, 15, 30, 35, *range(40, 100, EVERY)), {"OK"}),
        (schedule(5), {"OK", "ALARM"}),
        (both(schedule(5), schedule(*range(10, 100, EVERY), kind="creation")), {"OK", "ALARM"}),
        (Series(), {"ALARM"}),
    ],
    ids=["runs", "runs that fail", "two are missed", "silence", "only counters are created", "none at all"],
)
def test_silence(series: Series, states: set[str], deployment: Deployment) -> None:
    for found in histories(alarm(deployment, "noRun"), series, 90, start=5):
        assert {*found} == states


def test_silence_is_three_runs_and_five_minutes(deployment: Deployment) -> None:
    for states in histories(alarm(deployment, "noRun"), schedule(5), 60, start=5):
        assert states.index("ALARM") + 5 == 5 + 3 * EVERY + 5


def test_every_alarm_was_shown(deployment: Deployment) -> None:
    """So that no alarm comes without its cases above."""
    shown = {"errors", "throttles", "tableThrottles", "latency"}

    assert {name for name, alarm in ALARMS.items() if alarm.every_region} == shown
    assert ALARMS.keys() - shown == {"unfinished", "ceiling", "lostTables", "failedRuns", "noRun"}


@pytest.mark.long
@pytest.mark.parametrize("minutes", [1, 5, 17, 60])
def test_a_quiet_stack_wakes_nobody(minutes: int) -> None:
    quiet = runs(*(looking(minute) for minute in range(minutes * 20, minutes * 40, minutes)))

    for made in registered(minutes):
        for states in histories(made, quiet, minutes * 40, start=minutes * 20):
            assert "ALARM" not in states, made["name"]


def registered(minutes: int, **thresholds: int) -> list[dict[str, Any]]:
    """The alarms of one region as they are registered, where the schedule runs so often."""

    def program() -> None:
        of_home = stack_metrics(HOME, schedule_minutes=minutes, thresholds=thresholds)
        coordinator = pulumi.ComponentResource("x:index:Coordinator", "coordinator")
        Monitoring(
            "alarms",
            of_home,
            dashboard=False,
            emails=(),
            topics={},
            kms_keys={},
            deployed=coordinator,
            opts=pulumi.ResourceOptions(),
        )

    return [made.inputs for made in deploy({}, program=program).of(ALARM)]


@pytest.mark.parametrize("minutes", [1, 5, 60])
def test_cloudwatch_takes_every_period(minutes: int) -> None:
    """API reference, PutMetricAlarm: multiples of 60; below an hour at most one day altogether, above it seven."""
    for made in registered(minutes, noRun=1440, failedRuns=10):
        period = AlarmData.of(made).period
        whole = period * made["evaluationPeriods"]
        assert period % 60 == 0
        assert whole <= (86_400 if period < 3600 else 604_800)
        assert 1 <= made["datapointsToAlarm"] <= made["evaluationPeriods"]


# The evaluator itself follows the rules of CloudWatch's user guide.

MADE: dict[str, Any] = {
    "region": "eu-west-1",
    "namespace": "N",
    "metricName": "M",
    "dimensions": {"A": "1"},
    "statistic": "Sum",
    "period": MINUTE,
    "evaluationPeriods": 3,
    "datapointsToAlarm": 2,
    "comparisonOperator": "GreaterThanOrEqualToThreshold",
    "threshold": 1,
    "treatMissingData": "notBreaching",
}


@pytest.mark.parametrize(
    ("points", "needed", "breaching", "not_breaching", "ignore"),
    [
        ("0 - X - X", 3, "OK", "OK", "OK"),
        ("0 - - - -", 3, "OK", "OK", "OK"),
        ("- - - - -", 3, "ALARM", "OK", "as before"),
        ("0 X X - X", 3, "ALARM", "ALARM", "ALARM"),
        ("- - X - -", 3, "ALARM", "OK", "as before"),
        ("0 - X - X", 2, "ALARM", "ALARM", "ALARM"),
        ("0 0 X 0 X", 2, "ALARM", "ALARM", "ALARM"),
        ("0 - X - -", 2, "ALARM", "OK", "OK"),
        ("- - - - 0", 2, "ALARM", "OK", "OK"),
        ("- - - X -", 2, "ALARM", "OK", "as before"),
    ],
)
def test_evaluator_judges_as_the_tables_of_the_user_guide(
    points: str, needed: int, breaching: str, not_breaching: str, ignore: str
) -> None:
    """User guide, "Configuring how CloudWatch alarms treat missing data": three periods, of which it looks at five."""
    newest_first = [{"X": True, "0": False}.get(point) for point in reversed(points.split())]

    found = [judged(newest_first, 3, needed, how, "as before") for how in ("breaching", "notBreaching", "ignore")]

    assert found == [breaching, not_breaching, ignore]


def test_evaluator_looks_further_back_where_data_are_missing() -> None:
    """Which is why no alarm on a count leaves missing data to CloudWatch."""
    silence = {**MADE, "comparisonOperator": "LessThanThreshold", "treatMissingData": "breaching"}
    silence |= {"evaluationPeriods": 1, "datapointsToAlarm": 1, "period": 20 * MINUTE}
    noticed = [states.index("ALARM") for states in histories(silence, series_of({5: 1}), 200, start=5)]
    bursts = series_of({1: 1, 4: 1})
    far_apart = {"ALARM" in history(MADE, bursts, 9, reading=reading) for reading in READINGS}

    assert sorted({*noticed}) == [20, 40, 60, 120]
    assert far_apart == {True, False}


def series_of(values: dict[float, float], region: str = "eu-west-1", **dimensions: str) -> Series:
    made = Series()
    for minute, value in values.items():
        made.put(region, "N", "M", dimensions or {"A": "1"}, minute * MINUTE, value)
    return made


def test_evaluator_has_no_percentile_of_statistic_sets() -> None:
    """Which is why no alarm is on a percentile of what may be published so."""
    of_url = {**MADE, "metricName": "UrlRequestLatency", "statistic": None, "extendedStatistic": "p99"}
    of_url |= {"evaluateLowSampleCountPercentiles": "evaluate"}
    series = Series()
    for minute in (1, 2, 3):
        series.put("eu-west-1", "N", "UrlRequestLatency", {"A": "1"}, minute * MINUTE, 5)

    greatest = of_url | {"extendedStatistic": None, "statistic": "Maximum"}
    assert {states[-1] for states in histories(of_url, series, 3)} == {"ALARM", "OK"}
    assert {states[-1] for states in histories(greatest, series, 3)} == {"ALARM"}


def test_evaluator_keeps_metrics_apart() -> None:
    values: dict[float, float] = {1: 1, 2: 1, 3: 1}

    assert history(MADE, series_of(values), 3)[-1] == "ALARM"
    assert history(MADE, series_of(values, "us-east-1"), 3)[-1] == "OK"
    assert history(MADE, series_of(values, A="2"), 3)[-1] == "OK"
    assert history(MADE, series_of(values, A="1", B="1"), 3)[-1] == "OK"


def test_evaluator_ignores_a_percentile_of_few_samples() -> None:
    slow = {**MADE, "statistic": None, "extendedStatistic": "p99", "evaluateLowSampleCountPercentiles": "ignore"}
    some: dict[float, float] = {2 + n / 10_000: 5 for n in range(1, 1001)}
    fewer = dict(list(some.items())[:999])

    assert history({**slow, "datapointsToAlarm": 1}, series_of(some), 3)[-1] == "ALARM"
    assert history({**slow, "datapointsToAlarm": 1}, series_of(fewer), 3)[-1] == "OK", "as it was before"
