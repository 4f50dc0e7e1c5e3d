"""docs/audit.md: what it records is what is deployed, and what it costs is computed."""

import json
import re
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from local.paths import ROOT
from tests.components.aws_answers import FUNCTION, ROLE, TABLE, arn
from tests.components.recording import Deployment
from tests.components.running import config, deploy

PAGE = (ROOT / "docs" / "audit.md").read_text()
REGIONS = ("us-east-1", "eu-west-1")
PER_EVENT = 0.10 / 100_000
"""US dollars (CloudTrail price list, "Data events")."""


def selectors() -> list[dict[str, Any]]:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    return json.loads(text)


@pytest.fixture(scope="module")
def production() -> Deployment:
    return deploy(config(*REGIONS, apiGateway=True), stack="production")


def test_cloudtrail_takes_the_selectors() -> None:
    model: Any = botocore.session.get_session().get_service_model("cloudtrail")
    shape = model.operation_model("PutEventSelectors").input_shape
    report = ParamValidator().validate({"TrailName": "audit", "AdvancedEventSelectors": selectors()}, shape)

    assert not report.has_errors(), report.generate_report()
    for selector in selectors():
        names = [field["Field"] for field in selector["FieldSelectors"]]
        assert names[0] == "eventCategory"
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("kind", "service", "resource"), [(FUNCTION, "lambda", "function:"), (TABLE, "dynamodb", "table/")]
)
def test_all_functions_and_tables_are_selected(production: Deployment, kind: str, service: str, resource: str) -> None:
    (prefixes,) = (
        field["StartsWith"]
        for selector in selectors()
        for field in selector["FieldSelectors"]
        if field["Field"] == "resources.ARN" and field["StartsWith"][0].split(":")[2] == service
    )
    arns = [arn(service, r.inputs["region"], resource + r.inputs["name"]) for r in production.of(kind)]

    assert len(arns) > len(REGIONS)
    assert [each for each in arns if not each.startswith(tuple(prefixes))] == []


def test_the_query_knows_all_roles(production: Deployment) -> None:
    (known,) = re.findall(r"regexp_like\(coalesce\(useridentity\.arn, ''\), '(.*?)'\)", PAGE)

    for role in production.of(ROLE):
        assert re.search(known, f"arn:aws:sts::123456789012:assumed-role/{role.inputs['name']}/session")
    assert not re.search(known, "arn:aws:sts::123456789012:assumed-role/administrator/session")


@pytest.mark.parametrize(
    ("what", "functions", "writes"),
    [
        ("a Function URL or the domain", 1, 1),
        ("the same, with an `Idempotency-Key`", 1, 2),
        ("API Gateway without a function", 0, 1),
    ],
)
def test_what_it_costs_is_computed(what: str, functions: int, writes: int) -> None:
    events = [functions * 1e6, (functions + writes) * 1e6]
    (figures,) = re.findall(rf"^\| {re.escape(what)} \| (.*) \|$", PAGE, re.MULTILINE)

    assert "A data event costs $0.10 per 100,000" in PAGE
    assert figures == " | ".join(f"{number * PER_EVENT:.2f}" for number in events)
