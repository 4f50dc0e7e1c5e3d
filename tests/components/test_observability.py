"""Which alarms are made where, who hears of them, and that every metric on the dashboard exists."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from coordinate.metrics import NAMESPACE, OF_A_REGION, UNITS

from components.partitions import WITHOUT_FUNCTION_URLS, partitions
from components.thresholds import EVERY_REGION, THRESHOLDS
from components.watched import COORDINATOR
from tests.components.aws_answers import (
    ALARM,
    COMPOSITE,
    DASHBOARD,
    FUNCTION,
    FUNCTION_URL,
    HTTP_API,
    REST_API,
    SUBSCRIPTION,
    TABLE,
    TOPIC,
)
from tests.components.evaluation import composite
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly

ONE = ("eu-west-1",)
THIRTY = (HOME, *sorted(r for r, partition in partitions().items() if partition == "aws" and r != HOME)[:29])
DOMAIN = "integers.example.com"
ALL: dict[str, Any] = {"allowUrlRegions": sorted(WITHOUT_FUNCTION_URLS)}
OF_THE_WHOLE = sorted(THRESHOLDS.keys() - {*EVERY_REGION})

FUNCTION_METRICS = {"Errors", "Duration", "Throttles", "ConcurrentExecutions"}
URL_METRICS = {"UrlRequestCount", "UrlRequestLatency", "Url4xxCount", "Url5xxCount"}
"""Lambda guide, "Types of metrics for Lambda functions" and "Monitoring Lambda function URLs"."""
TABLE_METRICS = {"ConsumedWriteCapacityUnits", "WriteThrottleEvents", "ConditionalCheckFailedRequests"}
API_METRICS = {"Count", "Latency"}
"""API Gateway guide, "Amazon API Gateway dimensions and metrics" and "Working with metrics for HTTP APIs"."""
OPERATION_METRICS = {"ThrottledRequests"}
"""DynamoDB guide, "DynamoDB metrics and dimensions": these have the dimension Operation too."""


def lines(deployment: Deployment) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Return region, namespace, name and dimensions of every metric on the dashboard."""
    body = json.loads(deployment.one(DASHBOARD).inputs["dashboardBody"])
    for widget in body["widgets"]:
        for namespace, name, *dimensions, options in widget["properties"].get("metrics", ()):
            yield options["region"], namespace, name, dict(zip(dimensions[::2], dimensions[1::2], strict=True))


def watched(deployment: Deployment) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Return the same of every alarm."""
    for made in deployment.of(ALARM):
        yield made.inputs["region"], made.inputs["namespace"], made.inputs["metricName"], made.inputs["dimensions"]


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
            written_here = (coordinator.inputs["region"], coordinator.inputs["environment"]["variables"]["STACK"])
            if written_here != (region, stack):
                return False
            if rest.keys() == {"Region"}:
                return (
                    name in OF_A_REGION
                    and rest["Region"] in json.loads(deployment.settle().inputs["input"])["wish"]["regions"]
                )
            return name in UNITS and (not rest or (name == "Failed" and rest == {"Run": "schedule"}))
        case _:
            return False


@pytest.mark.parametrize("regions", [ONE, THREE], ids=len)
@pytest.mark.parametrize("home", [HOME, "us-west-2"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"domain": DOMAIN},
        {"domain": DOMAIN, "authorization": "NONE"},
        {"domain": DOMAIN, "functionUrls": False},
        {"domain": DOMAIN, "authorization": "NONE", "functionUrls": False},
    ],
    ids=["urls", "signed too", "public too", "signed", "public"],
)
def test_every_metric_that_is_shown_or_watched_exists(
    given: dict[str, Any], regions: tuple[str, ...], home: str
) -> None:
    leaving = ["sa-east-1"] if len(regions) == 3 else []
    deployment = deploy(config(*regions, home=home, leaving=leaving, **ALL, **given))
    used = [*lines(deployment), *watched(deployment)]

    assert len(used) > 20 * len(regions) / 2
    assert [metric for metric in used if not exists(deployment, *metric)] == []


def test_so_it_does_in_thirty_regions() -> None:
    deployment = deploy(config(*THIRTY, **ALL, domain=DOMAIN))
    used = [*lines(deployment), *watched(deployment)]

    assert len(used) > 20 * len(THIRTY) / 2
    assert [metric for metric in used if not exists(deployment, *metric)] == []


def test_the_namespace_is_the_coordinators() -> None:
    assert COORDINATOR == NAMESPACE


@pytest.mark.parametrize("regions", [ONE, THREE, THIRTY], ids=len)
def test_each_region_has_its_alarms_and_the_home_region_those_of_the_whole(regions: tuple[str, ...]) -> None:
    deployment = deploy(config(*regions, **ALL))
    found = {region: names(deployment, ALARM, region, "name") for region in {*regions, HOME}}

    for region in regions:
        assert {f"{PREFIX}-{key}" for key in EVERY_REGION} <= found[region]
    assert {f"{PREFIX}-{key}" for key in OF_THE_WHOLE} <= found[HOME]
    assert sum(map(len, found.values())) == 4 * len(regions) + 5 == len(deployment.of(ALARM))


@pytest.mark.parametrize("authorization", ["AWS_IAM", "NONE"])
@pytest.mark.parametrize("urls", [True, False])
def test_with_a_domain_each_region_has_alarms_on_its_api(authorization: str, urls: bool) -> None:
    given: dict[str, Any] = {"domain": DOMAIN, "authorization": authorization, "functionUrls": urls}
    deployment = deploy(config(*THREE, leaving=["us-west-2"], paused=["ap-southeast-2"], **given))
    on_urls, on_apis = {"errors", "latency"}, {"addressErrors", "addressLatency"}
    expected = {f"{PREFIX}-{key}" for key in {"throttles", "tableThrottles", *on_apis, *(on_urls if urls else ())}}

    assert names(deployment, ALARM, "eu-west-1", "name") == expected
    assert names(deployment, ALARM, HOME, "name") == expected | {f"{PREFIX}-{key}" for key in OF_THE_WHOLE}
    assert {made.inputs["region"] for made in deployment.of(ALARM)} == {HOME, "eu-west-1"}
    assert "address" not in deployment.one(COMPOSITE).inputs["alarmRule"]


def test_the_alarms_on_the_apis_have_the_thresholds_of_those_on_the_urls() -> None:
    deployment = deploy(config(HOME, domain=DOMAIN, alarms={"errors": 7, "latency": 0}))
    errors = deployment.one(ALARM, name=f"{PREFIX}-addressErrors").inputs

    assert errors["threshold"] == deployment.one(ALARM, name=f"{PREFIX}-errors").inputs["threshold"] == 7
    assert f"the API of the address in {HOME} answers 5xx" in errors["alarmDescription"]
    assert not {f"{PREFIX}-latency", f"{PREFIX}-addressLatency"} & names(deployment, ALARM, HOME, "name")


@pytest.mark.parametrize("given", [{}, {"domain": DOMAIN}], ids=["urls", "address"])
def test_the_dashboard_is_one_at_home_within_cloudwatchs_limits_and_its_widgets_do_not_overlap(
    given: dict[str, Any],
) -> None:
    """CloudWatch user guide, "Service quotas": 500 metrics in a graph, 2,500 in a dashboard."""
    made = deploy(config(*THIRTY, **ALL, **given)).one(DASHBOARD).inputs
    widgets = json.loads(made["dashboardBody"])["widgets"]
    counts = [len(widget["properties"].get("metrics", ())) for widget in widgets]

    assert (made["region"], made["dashboardName"]) == (HOME, PREFIX)
    assert max(counts) <= 500
    assert sum(counts) * 64 / 30 <= 2500, "with 64 regions too"
    cells = [
        (x, y)
        for widget in widgets
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_its_first_row_has_a_line_for_each_region() -> None:
    body = json.loads(deploy(config(*THREE, leaving=["us-west-2"])).one(DASHBOARD).inputs["dashboardBody"])
    heading, *graphs = body["widgets"][:5]

    assert heading["properties"]["markdown"] == "## Is it well?"
    labels = [[entry[-1]["label"] for entry in graph["properties"]["metrics"]] for graph in graphs]
    assert labels == [
        [*THREE, "us-west-2 (leaving)"],
        [*THREE],
        [f"{region} {percentile}" for region in THREE for percentile in ("p50", "p99")],
        [*THREE],
    ]


def test_with_a_domain_each_region_has_a_line_for_its_api_too() -> None:
    deployment = deploy(config(HOME, leaving=["us-west-2"], domain=DOMAIN, authorization="NONE"))
    _, requests, errors, latency, _ = json.loads(deployment.one(DASHBOARD).inputs["dashboardBody"])["widgets"][:5]

    def shown(graph: dict[str, Any]) -> list[tuple[str, str]]:
        return [(line[-1]["label"], line[-1]["stat"]) for line in graph["properties"]["metrics"]]

    assert shown(requests) == [
        (HOME, "Sum"),
        (f"{HOME} (address)", "SampleCount"),
        ("us-west-2 (leaving)", "Sum"),
        ("us-west-2 (address) (leaving)", "SampleCount"),
    ]
    assert shown(errors) == [(HOME, "Sum"), (f"{HOME} (address)", "Sum")]
    assert [stat for _, stat in shown(latency)] == ["p50", "p99", "p50", "p99"]


def test_a_composite_alarm_joins_those_of_the_whole_and_notifies_nobody_twice() -> None:
    deployment = deploy(config(*THREE, alarmEmails=["a@shop.example"]))
    ill = deployment.one(COMPOSITE)
    well = {f"{PREFIX}-{key}": "OK" for key in OF_THE_WHOLE}

    assert (ill.inputs["region"], ill.inputs["alarmName"]) == (HOME, f"{PREFIX}-ill")
    assert "alarmActions" not in ill.inputs
    assert composite(ill.inputs["alarmRule"], well) == "OK"
    for key in OF_THE_WHOLE:
        assert composite(ill.inputs["alarmRule"], {**well, f"{PREFIX}-{key}": "ALARM"}) == "ALARM"


def test_silence_is_an_alarm_only_once_the_coordinator_has_run() -> None:
    deployment = deploy(config(*THREE))
    settle = deployment.settle().urn

    assert settle in deployment.one(ALARM, name=f"{PREFIX}-noRun").dependencies
    waiting = [r.name for r in (*deployment.of(ALARM), deployment.one(DASHBOARD)) if settle in r.dependencies]
    assert waiting == ["integers-alarms-noRun"], "all others are there even if the first deployment fails"


def test_by_default_nobody_is_notified_and_no_topic_is_made() -> None:
    deployment = deploy(config(*THREE))

    assert deployment.of(TOPIC) == deployment.of(SUBSCRIPTION) == []
    assert all(not made.inputs.get("alarmActions") for made in deployment.of(ALARM))


def test_addresses_are_subscribed_to_a_topic_of_each_region_with_alarms() -> None:
    addresses = ["a@shop.example", "b@shop.example"]
    deployment = deploy(config("eu-west-1", "eu-north-1", home="us-west-2", alarmEmails=addresses))
    regions = {"eu-west-1", "eu-north-1", "us-west-2"}

    assert {topic.inputs["region"] for topic in deployment.of(TOPIC)} == regions
    mails = [
        (mail.inputs["region"], mail.inputs["protocol"], mail.inputs["endpoint"])
        for mail in deployment.of(SUBSCRIPTION)
    ]
    assert sorted(mails) == [(region, "email", address) for region in sorted(regions) for address in addresses]
    for made in deployment.of(ALARM):
        topic = f"arn:aws:sns:{made.inputs['region']}:123456789012:{PREFIX}-alarms"
        assert made.inputs["alarmActions"] == made.inputs["okActions"] == [topic]


def test_own_topics_get_the_alarms_of_their_region() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:operators"
    deployment = deploy(config(*THREE, alarmTopics={"eu-west-1": topic}))

    notified = {made.inputs["region"]: made.inputs["alarmActions"] for made in deployment.of(ALARM)}
    assert notified == {HOME: [], "eu-west-1": [topic], "ap-southeast-2": []}
    assert deployment.of(TOPIC) == []


def test_alarms_are_switched_off_one_by_one_or_all_but_some() -> None:
    some = deploy(config(*THREE, alarms={"latency": 0, "noRun": 0}, alarmEmails=["a@shop.example"]))
    assert {made.inputs["name"] for made in some.of(ALARM)} == {
        f"{PREFIX}-{key}" for key in THRESHOLDS.keys() - {"latency", "noRun"}
    }
    assert "noRun" not in some.one(COMPOSITE).inputs["alarmRule"]

    only = deploy(config(*THREE, alarms={"*": 0, "errors": 7}, alarmEmails=["a@shop.example"]))
    assert [made.inputs["threshold"] for made in only.of(ALARM)] == [7, 7, 7]
    assert only.of(COMPOSITE) == []

    none = deploy(config(*THREE, alarms={"*": 0}, alarmEmails=["a@shop.example"]))
    assert none.of(ALARM) == none.of(COMPOSITE) == none.of(TOPIC) == []
    assert none.one(DASHBOARD).inputs["dashboardName"] == PREFIX


@pytest.mark.parametrize(
    ("key", "threshold", "registered"),
    [("unfinished", 30, 1800), ("ceiling", 12, 12), ("errors", 1, 1), ("latency", 250, 250), ("failedRuns", 1, 1)],
)
def test_a_threshold_is_that_of_the_settings(key: str, threshold: int, registered: int) -> None:
    deployment = deploy(config(HOME, alarms={key: threshold}))

    assert deployment.one(ALARM, name=f"{PREFIX}-{key}").inputs["threshold"] == registered
    assert f"({threshold} " in deployment.one(ALARM, name=f"{PREFIX}-{key}").inputs["alarmDescription"]


def test_the_thresholds_are_drawn_into_the_dashboard() -> None:
    body: dict[str, Any] = json.loads(
        deploy(config(HOME, alarms={"latency": 250, "errors": 0})).one(DASHBOARD).inputs["dashboardBody"]
    )
    drawn = {
        widget["properties"]["title"]: widget["properties"]["annotations"]["horizontal"][0]["value"]
        for widget in body["widgets"]
        if "annotations" in widget["properties"]
    }

    assert drawn["Latency, ms"] == 250
    assert drawn["Unfinished change, seconds"] == 900
    assert "Responses 5xx in 5 minutes" not in drawn


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"alarms": {"latncy": 5}}, "alarms.latncy: there is no such alarm; did you mean 'latency'?"),
        ({"alarms": {"zzz": 5}}, "alarms.zzz: there is no such alarm; there are errors, throttles, tableThrottles, "),
        ({"alarms": {"latency": -1}}, "alarms.latency: -1 is out of range; 0 (off) to 30000 milliseconds"),
        ({"alarms": {"ceiling": "6 h"}}, "alarms.ceiling: '6 h' is not an integer; 0 (off) to 9999 hours are allowed"),
        ({"alarms": {"*": 1}}, "alarms.*: 1 is not 0; for all alarms, only 0 (off) is allowed"),
        ({"alarms": [1]}, "is not an object of alarms and integers: in Pulumi.test.yaml, global-integers:alarms: {"),
        ({"alarmEmails": ["operator"]}, "alarmEmails: 'operator' is not an e-mail address like operator@shop.example"),
        ({"alarmEmails": "a@b.c"}, "alarmEmails: 'a@b.c' is not a list of strings"),
        ({"alarmTopics": {"eu-west-2": "x"}}, "alarmTopics.eu-west-2: the stack has no alarms there; it has some in "),
        ({"alarmTopics": {"eu-west-1": "operators"}}, "alarmTopics.eu-west-1: 'operators' is not the ARN of"),
        (
            {"alarmTopics": {"eu-west-1": "arn:aws:sns:us-east-1:123456789012:operators"}},
            "is in us-east-1; an alarm can only notify a topic of its own region",
        ),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_with_what_is_allowed(given: dict[str, Any], said: str) -> None:
    error, deployment = deploy_badly(config(*THREE, **given))

    assert deployment.resources == []
    first, line = str(error).splitlines()
    assert first == "the settings are wrong:"
    assert said in line
