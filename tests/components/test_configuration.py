"""`Pulumi.yaml` tells users (and the engine) the settings and their defaults; the program must agree."""

import json
from functools import cache
from typing import Any, cast

import pytest
import yaml

from local.paths import ROOT
from tests.components.aws_answers import INVOCATION
from tests.components.recording import Registration
from tests.components.running import HOME, PROJECT, THREE, config, deploy, deploy_badly

SCHEMA: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
DEFAULTS = {key: entry["default"] for key, entry in SCHEMA.items() if "default" in entry}

KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE}

OTHER: dict[str, object] = {
    "counters": ["orders"],
    "floors": {"integers": 1000},
    "leaving": ["us-west-2"],
    "window": 1000,
    "headroom": 1,
    "watchMinutes": 60,
    "allowUrlRegions": ["ca-west-1"],
    "authorization": "NONE",
    "memorySize": 512,
    "logRetentionDays": 30,
    "reservedConcurrency": 5,
    "paused": ["eu-west-1"],
    "waves": [["eu-west-1"], ["rest"]],
    "callers": {"arn:aws:iam::123456789012:role/shop": ["orders"]},
    "tags": {"team": "shop"},
    "iamPath": "/shop/",
    "permissionsBoundary": "arn:aws:iam::123456789012:policy/boundary",
    "kmsKeys": KEYS,
    "logKmsKeys": KEYS,
    "budget": 50,
    "budgetEmails": ["ops@shop.example"],
    "idempotencyHours": 48,
    "lease": 100,
    "corsOrigins": ["https://shop.example"],
    "openCounters": True,
    "apiGateway": True,
    "apiGatewayRate": 50,
    "apiGatewayBurst": 20,
    "domain": "integers.example.com",
    "hostedZone": "example.com",
    "functionUrls": False,
    "alarms": {"latency": 500},
    "alarmEmails": ["operator@shop.example"],
    "alarmTopics": {"eu-west-1": "arn:aws:sns:eu-west-1:123456789012:operators"},
    "protect": False,
}
"""A value for every setting that is not its default."""

BESIDE: dict[str, dict[str, object]] = {
    "apiGatewayRate": {"apiGateway": True},
    "apiGatewayBurst": {"apiGateway": True},
    "hostedZone": {"domain": "integers.example.com"},
    "functionUrls": {"domain": "integers.example.com"},
    "budget": {"budgetEmails": ["all@shop.example"]},
    "budgetEmails": {"budget": 10, "budgetEmails": ["all@shop.example"]},
}
"""What must be set too for a setting to count."""

ALLOWS_ONLY = {"allowUrlRegions"}
"""Settings that change only what is refused."""


def made(**given: object) -> list[tuple[str, str, bool, str]]:
    """All that a deployment registers, comparable: but for the code and the time, which no setting changes."""
    return sorted(map(_comparable, deploy(config(*THREE, home=HOME, **given)).resources))


@cache
def plain() -> list[tuple[str, str, bool, str]]:
    """The same without any setting."""
    return made()


def _comparable(resource: Registration) -> tuple[str, str, bool, str]:
    inputs = {key: value for key, value in resource.inputs.items() if key != "code"}
    if resource.type == INVOCATION:
        event = json.loads(inputs["input"])
        inputs["input"] = event.get("wish", event)  # beside a wish is the time
    inputs["after"] = sorted(resource.dependencies)
    return resource.type, resource.name, resource.protect, json.dumps(inputs, sort_keys=True)


def test_the_project_is_the_one_that_these_tests_run() -> None:
    assert yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["name"] == PROJECT


def test_only_the_regions_must_be_configured() -> None:
    """The engine asks every stack for a key that is declared without a default."""
    assert set(SCHEMA) - set(DEFAULTS) == {"regions"}


@pytest.mark.parametrize("key", DEFAULTS)
def test_the_programs_default_is_the_declared_one(key: str) -> None:
    assert plain() == made(**{key: DEFAULTS[key]})


@pytest.mark.parametrize("key", sorted(set(DEFAULTS) - ALLOWS_ONLY))
def test_every_declared_setting_changes_the_deployment(key: str) -> None:
    beside = BESIDE.get(key, {})
    before = made(**beside) if beside else plain()

    assert before != made(**{**beside, key: OTHER[key]})


def test_the_program_knows_the_declared_settings_and_no_others() -> None:
    error, _ = deploy_badly(config(*THREE, nonesuch=1))

    assert str(error).partition("known are ")[2].split(", ") == sorted(SCHEMA)


@pytest.mark.parametrize("key", SCHEMA)
def test_every_setting_is_described_and_its_default_is_of_its_type(key: str) -> None:
    types = {"array": list, "string": str, "integer": int, "boolean": bool, "object": dict}
    entry = SCHEMA[key]

    assert len(entry["description"]) > 20
    assert type(entry.get("default", ["eu-west-1"])) is types[entry["type"]]


def test_the_dev_stack_is_three_public_regions_without_protection() -> None:
    stack = cast("dict[str, Any]", yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"])

    assert stack == {
        "aws:region": "us-east-1",
        f"{PROJECT}:regions": ["us-east-1", "eu-west-1", "ap-southeast-2"],
        f"{PROJECT}:authorization": "NONE",
        f"{PROJECT}:reservedConcurrency": -1,
        f"{PROJECT}:protect": False,
        f"{PROJECT}:watchMinutes": 1,
    }


def test_the_local_stack_reaches_no_service_of_aws() -> None:
    stack = cast("dict[str, Any]", yaml.safe_load((ROOT / "Pulumi.local.yaml").read_text())["config"])
    (endpoints,) = stack["aws:endpoints"]
    address = {"domain": "integers.example.com", "hostedZone": "example.com", "authorization": "NONE"}
    all_kinds = config(
        *THREE, apiGateway=True, alarmEmails=["a@b.example"], budget=5, budgetEmails=["ops@shop.example"], **address
    )
    types = {r.type.split(":")[1] for r in deploy(all_kinds).resources if r.custom}
    of_cloudwatch = {
        "cloudwatch/logGroup": "logs",
        "cloudwatch/eventRule": "events",
        "cloudwatch/eventTarget": "events",
    }
    services = {of_cloudwatch.get(kind, kind.split("/")[0]) for kind in types}

    assert "events" in services
    assert services | {"sts"} == set(endpoints)
    assert {url.rpartition(":")[0] for url in endpoints.values()} == {"http://127.0.0.1"}


@pytest.mark.parametrize("namespace", ["globalintegers", "global_integers", "Global-Integers", "global-integer"])
def test_a_misspelt_namespace_is_refused(namespace: str) -> None:
    """Pulumi hands it over without a word: the URLs would stay public."""
    error, deployment = deploy_badly(config(HOME) | {f"{namespace}:authorization": "AWS_IAM"})

    assert deployment.resources == []
    assert f"{namespace}:authorization: nothing reads the namespace '{namespace}'" in str(error)
    assert f"did you mean {PROJECT}:authorization?" in str(error)


@pytest.mark.parametrize("key", ["aws:profile", "pulumi:tags", "datadog:apiKey", "integers:x"])
def test_other_namespaces_are_left_alone(key: str) -> None:
    deployment = deploy(config(HOME) | {key: "work"})

    assert deployment.outputs["regions"] == [HOME]
