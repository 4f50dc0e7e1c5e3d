"""docs/permissions.md: its policies are what is deployed, and its prices are computed from those of the price list."""

import json
import re
from typing import Any

import pytest
import yaml

from components.domain.capacity import capacity
from components.settings import PUBLIC_CONCURRENCY
from components.table import use_keys
from local.paths import ROOT
from tests.components.aws_answers import ALARM, POLICY
from tests.components.running import HOME, PREFIX, config, deploy, settings

PAGE = (ROOT / "docs" / "permissions.md").read_text()
PRICES = (ROOT / "docs" / "performance.md").read_text()

REQUESTS = PUBLIC_CONCURRENCY * 10 * 86_400 / 1e6
"""Millions a day: a Function URL serves ten requests per second for each execution."""

GIGABYTE = 0.09
"""US dollars for data that leaves AWS (EC2 price list, the first 10 TB)."""


def key_policy() -> list[dict[str, Any]]:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    return json.loads(text)["Statement"]


def test_the_key_policy_allows_what_the_roles_do() -> None:
    tables, _, _ = key_policy()
    (own,) = use_keys(["key"])

    assert set(own["Action"]) == set(tables["Action"]) - {"kms:CreateGrant"}
    services = tables["Condition"]["StringEquals"]["kms:ViaService"]
    assert services == [f"{service}.eu-west-1.amazonaws.com" for service in ("dynamodb", "lambda")]


def test_the_key_policy_names_the_log_groups_of_the_functions() -> None:
    _, logs, _ = key_policy()
    (group,) = logs["Condition"]["ArnLike"].values()

    assert logs["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert group.endswith(":log-group:/aws/lambda/global-integers-production-*")


def test_the_key_policy_names_the_alarms_that_use_the_topics() -> None:
    _, _, topics = key_policy()
    alarms = deploy(config(HOME), stack="production").of(ALARM)

    (pattern,) = topics["Condition"]["ArnLike"].values()
    assert topics["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert alarms
    assert {alarm.inputs["name"].startswith(pattern.rpartition(":")[2].removesuffix("*")) for alarm in alarms} == {True}


@pytest.mark.parametrize(
    ("role", "own"),
    [
        (f"mint-{HOME}", "…-mint-<region>"),
        ("coordinate", "…-coordinate"),
        (f"gateway-{HOME}", "…-gateway-<region>"),
    ],
)
def test_the_table_of_roles_has_all_their_actions_and_no_others(role: str, own: str) -> None:
    deployment = deploy(config(HOME, apiGateway=True, openCounters=True))
    policy, *_ = [
        json.loads(p.inputs["policy"]) for p in deployment.of(POLICY) if p.inputs["role"] == f"{PREFIX}-{role}"
    ]
    actions = [action.partition(":")[2] for s in policy["Statement"] for action in s["Action"]]
    rows = re.findall(r"^\| (?:`(….*?)`)? *\| (.*?) \|", PAGE, re.MULTILINE)
    listed: list[str] = []
    present = ""
    for name, cell in rows:
        present = name or present
        if present == own:
            listed += [text.rpartition(":")[2] for text in re.findall(r"`((?:\w+:)?[A-Z]\w+)`", cell)]

    assert sorted(set(listed)) == sorted(set(actions) - {"CreateLogStream", "PutLogEvents"})


def test_the_callers_that_it_shows_are_accepted() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    shown = yaml.safe_load(text)["global-integers:callers"]

    assert len(shown) == 3
    assert settings(config(HOME, callers=shown)).callers.keys() == shown.keys()


HTTP_API = 1.00
"""US dollars for a million requests of an HTTP API. One of up to 512 KB is one."""


def row(reads: int, writes: int, kilobytes: float) -> list[float]:
    """Return the dollars a day of Lambda, DynamoDB and data, together, and with the domain's requests.

    All requests read, write and return so much. The executions are busy all day, whoever calls them.
    """
    duration = PUBLIC_CONCURRENCY * 86_400 * 256 / 1024 * 0.0000133334
    each = [REQUESTS * 0.20, REQUESTS * (reads * 0.125 + writes * 0.625), REQUESTS * kilobytes * GIGABYTE]
    together = duration + sum(each)
    return [duration + each[0], *each[1:], together, together + REQUESTS * HTTP_API + sum(each)]


@pytest.mark.parametrize(
    ("what", "costs"),
    [
        ("single integers", row(0, 1, 0.5)),
        ("the page", row(2, 0, 16)),
        ("blocks of 1,000 with an `Idempotency-Key`", row(1, 2, 18.2)),
    ],
)
def test_what_an_attack_costs_is_computed_from_the_price_list(what: str, costs: list[float]) -> None:
    for price in ("$0.20 per million Lambda requests", "$0.0000133334 per GB-second", "$0.625 per million write units"):
        assert price in PRICES
    figures = re.findall(rf"^\| {re.escape(what)} \| (.*) \|$", PAGE, re.MULTILINE)

    assert figures == [" | ".join(f"{cost:.2f}" for cost in costs)]


def test_the_domain_takes_as_many_requests_as_the_url() -> None:
    limits = capacity(settings(config(HOME, authorization="NONE")), HOME)

    assert (limits.callers.rate + limits.health.rate) * 86_400 / 1e6 == REQUESTS


def test_what_unsigned_requests_cost_is_computed_too() -> None:
    rate = capacity(settings(config(HOME)), HOME).health.rate
    execution = 0.005 * 256 / 1024 * 0.0000133334 * 1e6
    cost = rate * 86_400 / 1e6 * (3.50 + 0.20 + execution + 0.125 + 0.5 * GIGABYTE)

    assert f"That path takes {rate} requests per second in each region: up to {cost:.0f} dollars a day." in PAGE


def test_what_api_gateway_may_cost_is_computed_too() -> None:
    gateway = 1000 * 86_400 / 1e6 * (3.50 + 0.625)
    coordinator = PUBLIC_CONCURRENCY * 86_400 * 1769 / 1024 * 0.0000133334

    assert f"up to {gateway:.0f} dollars a day" in PAGE
    assert f"up to {coordinator:.0f} dollars a day" in PAGE
