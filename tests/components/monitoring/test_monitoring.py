"""Which alarms are made where, who hears of them, and that every metric on the dashboard exists."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from coordinate.metrics import NAMESPACE, OF_A_REGION, OF_ALARMS, OF_DASHBOARD

from components.monitoring.alarms import ALARMS, alarms
from components.monitoring.dashboard import body
from tests.components.aws_answers import (
    ALARM,
    BUDGET,
    COMPOSITE,
    DASHBOARD,
    FUNCTION,
    FUNCTION_URL,
    HTTP_API,
    REST_API,
    TABLE,
    TOPIC,
)
from tests.components.monitoring.evaluation import AlarmData
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, config, deploy, stack_metrics

EVERY_REGION = sorted(name for name, alarm in ALARMS.items() if alarm.every_region)
OF_THE_WHOLE = sorted(ALARMS.keys() - {*EVERY_REGION})
OF_CALLERS = sorted(name for name, alarm in ALARMS.items() if alarm.domain_metric)

FUNCTION_METRICS = {"Errors", "Duration", "Throttles", "ConcurrentExecutions"}
URL_METRICS = {"UrlRequestCount", "UrlRequestLatency", "Url4xxCount", "Url5xxCount"}
"""Lambda guide, "Types of metrics for Lambda functions" and "Monitoring Lambda function URLs"."""
TABLE_METRICS = {"ConsumedWriteCapacityUnits", "WriteThrottleEvents", "ConditionalCheckFailedRequests"}
API_METRICS = {"Count", "Latency"}
"""API Gateway guide, "Amazon API Gateway dimensions and metrics" and "Working with metrics for HTTP APIs"."""
OPERATION_METRICS = {"ThrottledRequests"}
"""DynamoDB guide, "DynamoDB metrics and dimensions": these have the dimension Operation too."""


def lines(deployment: Deployment) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Return region, namespace, name and dimensions of every metric on the dashboard, if there is one."""
    widgets = [
        each for made in deployment.of(DASHBOARD) for each in json.loads(made.inputs["dashboardBody"])["widgets"]
    ]
    for widget in widgets:
        for namespace, name, *dimensions, options in widget["properties"].get("metrics", ()):
            yield options["region"], namespace, name, dict(zip(dimensions[::2], dimensions[1::2], strict=True))


def used_by_alarms(deployment: Deployment) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Return the same of every alarm."""
    for made in deployment.of(ALARM):
        region, namespace, name, dimensions = AlarmData.of(made.inputs).metric
        yield region, namespace, name, dict(dimensions)


def names(deployment: Deployment, kind: str, region: str, key: str) -> set[str]:
    return {made.inputs[key] for made in deployment.of(kind) if made.inputs["region"] == region}


def exists(deployment: Deployment, region: str, namespace: str, name: str, dimensions: dict[str, str]) -> bool:
    """Return whether AWS, or the coordinator, writes this metric for what is deployed."""
    match namespace, dimensions:
        case "AWS/Lambda", {"FunctionName": function, **rest} if not rest:
            if name in URL_METRICS:
                return function in names(deployment, FUNCTION_URL, region, "functionName")
            return name in FUNCTION_METRICS and function in names(deployment, FUNCTION, region, "name")
        case "AWS/ApiGateway", {"ApiName": api, **rest} if not rest:
            return name in {*API_METRICS, "4XXError", "5XXError"} and api in names(deployment, REST_API, region, "name")
        case "AWS/ApiGateway", {"ApiId": api, **rest} if not rest:
            apis = {f"{made.name}-id" for made in deployment.of(HTTP_API) if made.inputs["region"] == region}
            return name in {*API_METRICS, "4xx", "5xx"} and api in apis
        case "AWS/DynamoDB", {"TableName": table, "Operation": "UpdateItem", **rest} if not rest:
            return name in OPERATION_METRICS and table in names(deployment, TABLE, region, "name")
        case "AWS/DynamoDB", {"TableName": table, **rest} if not rest:
            return name in TABLE_METRICS and table in names(deployment, TABLE, region, "name")
        case "GlobalIntegers", {"Stack": stack, **rest}:
            (coordinator,) = [f for f in deployment.of(FUNCTION) if f.inputs["name"].endswith("-coordinate")]
            variables = coordinator.inputs["environment"]["variables"]
            if (coordinator.inputs["region"], variables["STACK"]) != (region, stack):
                return False
            of_dashboard = "DASHBOARD" in variables
            if rest.keys() == {"Region"}:
                regions = json.loads(deployment.reconcile().inputs["input"])["desired"]["regions"]
                return of_dashboard and name in OF_A_REGION and rest["Region"] in regions
            return not rest and name in (*OF_ALARMS, *(OF_DASHBOARD if of_dashboard else ()))
        case _:
            return False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "leaving", "public_domain", "signed_domain", "elsewhere"])
def test_every_metric_of_an_alarm_or_a_graph_exists(name: str, request: pytest.FixtureRequest) -> None:
    deployment: Deployment = request.getfixturevalue(name)
    used = [*lines(deployment), *used_by_alarms(deployment)]

    assert len(used) >= len(EVERY_REGION) * len(deployment.outputs["regions"]) + len(OF_THE_WHOLE)
    assert bool([*lines(deployment)]) == (name != "one")
    assert [metric for metric in used if not exists(deployment, *metric)] == []


@pytest.mark.parametrize("function_urls", [True, False])
def test_with_a_domain_each_region_has_alarms_on_its_api(function_urls: bool) -> None:
    found = alarms(stack_metrics(HOME, "a", "b", apis=True, leaving=("d",), paused=("b",), function_urls=function_urls))
    on_apis = {"domainErrors", "domainLatency"}
    expected = {*EVERY_REGION, *on_apis} - (set() if function_urls else {*OF_CALLERS})
    by_region = {region: {a.name for a in found if a.metric.region == region} for region in (HOME, "a", "b", "d")}

    assert by_region == {HOME: expected | {*OF_THE_WHOLE}, "a": expected, "b": set(), "d": set()}
    assert {*OF_CALLERS} == {"errors", "latency"}


@pytest.mark.parametrize("apis", [True, False])
def test_the_dashboard_keeps_cloudwatchs_limits(apis: bool) -> None:
    """CloudWatch user guide, "Service quotas": 500 metrics in a graph, 2,500 in a dashboard."""
    widgets = body(stack_metrics(*(f"region-{n}" for n in range(64)), apis=apis))["widgets"]
    counts = [len(widget["properties"].get("metrics", ())) for widget in widgets]

    assert max(counts) <= 500
    assert sum(counts) <= 2500
    cells = [
        (x, y)
        for widget in widgets
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    assert len(cells) == len(set(cells)), "no widget overlaps another"
    assert max(x for x, _ in cells) < 24


def test_what_is_of_the_whole_is_at_home_though_it_doesnt_mint(elsewhere: Deployment) -> None:
    assert names(elsewhere, FUNCTION, "us-west-2", "name") == {f"{PREFIX}-coordinate"}
    assert names(elsewhere, ALARM, "us-west-2", "name") == {f"{PREFIX}-{key}" for key in OF_THE_WHOLE}
    assert names(elsewhere, DASHBOARD, "us-west-2", "dashboardName") == {f"{PREFIX}-us-west-2"}
    assert elsewhere.reconcile().inputs["region"] == "us-west-2"
    assert "us-west-2" in json.dumps(elsewhere.one(BUDGET).inputs["costFilters"])


def test_every_metric_that_costs_is_used(elsewhere: Deployment, signed: Deployment) -> None:
    """CloudWatch charges each metric of a namespace of one's own, whether anybody looks at it or not."""
    regions: list[str] = elsewhere.outputs["regions"]
    paid = {(name, None) for name in (*OF_ALARMS, *OF_DASHBOARD)} | {(n, r) for n in OF_A_REGION for r in regions}

    def own(used: Iterator[tuple[str, str, str, dict[str, str]]]) -> set[tuple[str, str | None]]:
        return {(name, dimensions.get("Region")) for _, namespace, name, dimensions in used if namespace == NAMESPACE}

    assert own(used_by_alarms(signed)) == {(name, None) for name in OF_ALARMS}
    assert own(used_by_alarms(elsewhere)) | own(lines(elsewhere)) == paid


def test_with_a_domain_each_region_has_a_line_for_its_api() -> None:
    found = body(stack_metrics(HOME, leaving=("us-west-2",), apis=True, signed=False))
    _, requests, errors, latency, _ = found["widgets"][:5]

    def shown(graph: dict[str, Any]) -> list[tuple[str, str]]:
        return [(line[-1]["label"], line[-1]["stat"]) for line in graph["properties"]["metrics"]]

    assert shown(requests) == [
        (HOME, "Sum"),
        (f"{HOME} (domain)", "SampleCount"),
        ("us-west-2 (leaving)", "Sum"),
        ("us-west-2 (domain) (leaving)", "SampleCount"),
    ]
    assert shown(errors) == [(HOME, "Sum"), (f"{HOME} (domain)", "Sum")]
    assert [stat for _, stat in shown(latency)] == ["p50", "p99", "p50", "p99", "Maximum"], (
        "of URLs, a percentile may not exist"  # Lambda guide, "Monitoring Lambda function URLs"
    )


def test_silence_is_an_alarm_only_after_the_first_run(signed: Deployment) -> None:
    reconcile = signed.reconcile().urn

    assert reconcile in signed.one(ALARM, name=f"{PREFIX}-noRun").dependencies
    waiting = [r.name for r in signed.of(ALARM) if reconcile in r.dependencies]
    assert waiting == [f"integers-monitoring-{HOME}-noRun"], "all others are there even if the first deployment fails"


def test_own_topics_get_the_alarms_of_their_region() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:operators"
    deployment = deploy(config(HOME, "eu-west-1", alarmTopics={"eu-west-1": topic}))

    notified = {made.inputs["region"]: made.inputs["alarmActions"] for made in deployment.of(ALARM)}
    assert notified == {HOME: [], "eu-west-1": [topic]}
    assert deployment.of(TOPIC) == []


def test_alarms_are_switched_off_one_by_one_or_all() -> None:
    some = {alarm.name for alarm in alarms(stack_metrics(HOME, thresholds={"latency": 0, "noRun": 0}))}
    assert some == ALARMS.keys() - {"latency", "noRun"}
    only = alarms(stack_metrics(HOME, "a", thresholds={"*": 0, "errors": 7}))
    assert [(alarm.name, alarm.evaluation.threshold) for alarm in only] == [("errors", 7), ("errors", 7)]

    none = deploy(config(HOME, alarms={"*": 0}, alarmEmails=["a@shop.example"], dashboard=True))
    assert none.of(ALARM) == none.of(COMPOSITE) == none.of(TOPIC) == []
    assert none.one(DASHBOARD).inputs["dashboardName"] == f"{PREFIX}-{HOME}"


def test_a_threshold_is_that_of_the_settings() -> None:
    thresholds = {"unfinished": 30, "ceiling": 12, "errors": 1, "latency": 250, "failedRuns": 1}
    made = {alarm.name: alarm for alarm in alarms(stack_metrics(HOME, apis=True, thresholds=thresholds))}
    drawn = {
        widget["properties"]["title"]: widget["properties"]["annotations"]["horizontal"][0]["value"]
        for widget in body(stack_metrics(HOME, thresholds={**thresholds, "errors": 0}))["widgets"]
        if "annotations" in widget["properties"]
    }

    for key, threshold in {**thresholds, "domainErrors": 1, "domainLatency": 250}.items():
        assert made[key].evaluation.threshold == threshold * (60 if key == "unfinished" else 1)
        assert f"({threshold} " in made[key].text(PREFIX)
    assert f"the API of the domain in {HOME} answers 5xx" in made["domainErrors"].text(PREFIX)
    assert (drawn["Latency, ms"], drawn["Unfinished change, seconds"]) == (250, 1800)
    assert "Responses 5xx in 5 minutes" not in drawn
