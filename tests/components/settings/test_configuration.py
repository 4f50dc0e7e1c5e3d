"""`Pulumi.yaml` tells users (and the engine) the settings and their defaults; the program must agree."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

import pulumi
import pytest
import yaml

from components.settings.args import SETTINGS, Range
from global_integers_core.names import camel
from local.paths import ROOT
from tests.components.aws_answers import (
    ALARM,
    BUDGET,
    DASHBOARD,
    FUNCTION,
    FUNCTION_URL,
    METHOD_SETTINGS,
    RECORD,
    REST_API,
    ROLE,
    RULE,
    STASH,
    SUBSCRIPTION,
    TABLE,
)
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, PROJECT, config, deploy, refusals, settings

SCHEMA: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
DEFAULTS = {key: entry["default"] for key, entry in SCHEMA.items() if "default" in entry}

TWO = (HOME, "eu-west-1")
KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in (*TWO, "us-west-2")}
TOPIC = "arn:aws:sns:eu-west-1:123456789012:operators"
RELEASE = f"integers-coordinator-{HOME}-release-eu-west-1"
CALLERS = {"arn:aws:iam::123456789012:role/shop": ["orders"]}


def derived() -> dict[str, Any]:
    """Return another value than the default of each setting that has a range, or is true or false, by its entry."""
    found: dict[str, Any] = {}
    for name, each in SETTINGS.items():
        allowed: Range = each.metadata["allowed"]
        if isinstance(allowed.default, bool):
            found[camel(name)] = not allowed.default
        elif allowed.choices:
            found[camel(name)] = next(choice for choice in allowed.choices[::-1] if choice != allowed.default)
        elif allowed.most:
            found[camel(name)] = next(n for n in ((allowed.least + allowed.most) // 2, 1) if n != allowed.default)
    return found


OTHER: dict[str, Any] = {
    **derived(),
    "counters": ["integers", "orders"],
    "defaultCounter": "orders",
    "floors": {"integers": 1000},
    "recovery": {"loss": "loss-c9f0f895fb98ab91-7", "above": 7},
    "leaving": ["us-west-2"],
    "reservedConcurrency": 5,
    "paused": ["eu-west-1"],
    "waves": [["eu-west-1"], ["rest"]],
    "callers": CALLERS,
    "iamPath": "/shop/",
    "permissionsBoundary": "arn:aws:iam::123456789012:policy/boundary",
    "kmsKeys": KEYS,
    "budget": 50,
    "corsOrigins": ["https://shop.example"],
    "apiGatewayRate": 50,
    "apiGatewayBurst": 20,
    "domain": "integers.example.com",
    "hostedZone": "example.com",
    "alarms": {"throttles": 5},
    "alarmEmails": ["operator@shop.example"],
    "alarmTopics": {"us-east-1": TOPIC.replace("eu-west-1", HOME)},
}
"""A value for every setting that is not its default; `allowUrlRegions` changes only what is refused.

Those that are neither numbers nor true or false must be written here, and those that the others limit.
"""

EXCLUDED = ("callers", "functionUrls", "waves")
"""Settings that are not allowed beside some of the others, or show nothing beside them."""


def with_gateways() -> Deployment:
    """Everything else than by default, but for the settings that exclude each other."""
    return deploy(config(*TWO, **{key: OTHER[key] for key in OTHER if key not in EXCLUDED}))


def signed_for() -> Deployment:
    """What excludes the above."""
    return deploy(config(*TWO, **{key: OTHER[key] for key in ("domain", "hostedZone", *EXCLUDED)}))


def plain() -> Deployment:
    return deploy(config(*TWO))


def minting(deployment: Deployment) -> Registration:
    return deployment.one(FUNCTION, name=f"{PREFIX}-mint", region=HOME)


def mint(deployment: Deployment) -> dict[str, Any]:
    return minting(deployment).inputs


def variable(name: str) -> Callable[[Deployment], Any]:
    return lambda deployment: mint(deployment)["environment"]["variables"].get(name)


def coordinating(name: str) -> Callable[[Deployment], Any]:
    def shown(deployment: Deployment) -> Any:
        function = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate", region=HOME)
        return function.inputs["environment"]["variables"].get(name)

    return shown


def desired(name: str) -> Callable[[Deployment], Any]:
    return lambda deployment: json.loads(deployment.reconcile().inputs["input"])["desired"][name]


def first(kind: str, key: str) -> Callable[[Deployment], Any]:
    """The input of the first resource of a kind at home, by name, or None. The order of registrations may differ."""

    def shown(deployment: Deployment) -> Any:
        made = [resource for resource in deployment.of(kind) if resource.inputs.get("region", HOME) == HOME]
        return min(made, key=lambda resource: resource.name).inputs.get(key) if made else None

    return shown


def throttling(deployment: Deployment) -> dict[str, Any]:
    return first(METHOD_SETTINGS, "settings")(deployment) or {}


def origins(deployment: Deployment) -> Any:
    return (first(FUNCTION_URL, "cors")(deployment) or {"allowOrigins": None})["allowOrigins"]


def paused(deployment: Deployment) -> list[str]:
    events = [json.loads(check.inputs["input"])["check"] for check in deployment.checks()]
    return [event["region"] for event in events if "paused" in event]


CHANGES: dict[str, tuple[Callable[[Deployment], Any], object]] = {
    "counters": (desired("counters"), ["integers", "orders", "-check"]),
    "defaultCounter": (variable("DEFAULT_COUNTER"), "orders"),
    "floors": (desired("floors"), {"integers": 1000}),
    "recovery": (desired("recovery"), {"loss": "loss-c9f0f895fb98ab91-7", "above": 7}),
    "leaving": (desired("leaving"), ["us-west-2"]),
    "scheduleMinutes": (first(RULE, "scheduleExpression"), "rate(30 minutes)"),
    "authorization": (first(FUNCTION_URL, "authorizationType"), "NONE"),
    "reservedConcurrency": (lambda deployment: mint(deployment)["reservedConcurrentExecutions"], 5),
    "paused": (paused, ["eu-west-1"]),
    "waves": (lambda d: [r.name for r in d.releases() if r.urn in minting(d).dependencies], [RELEASE]),
    "callers": (lambda deployment: json.loads(variable("CALLERS")(deployment) or "{}"), CALLERS),
    "iamPath": (first(ROLE, "path"), "/shop/"),
    "permissionsBoundary": (first(ROLE, "permissionsBoundary"), OTHER["permissionsBoundary"]),
    "kmsKeys": (first(TABLE, "serverSideEncryption"), {"enabled": True, "kmsKeyArn": KEYS[HOME]}),
    "budget": (first(BUDGET, "limitAmount"), "50"),
    "corsOrigins": (origins, ["https://shop.example"]),
    "maxCounters": (coordinating("MAX_COUNTERS"), "5000"),
    "openCounters": (lambda deployment: bool(variable("OPEN_COUNTERS")(deployment)), True),
    "apiGateway": (lambda deployment: f"{PREFIX}-gateway" in [r.inputs["name"] for r in deployment.of(REST_API)], True),
    "apiGatewayRate": (lambda deployment: throttling(deployment).get("throttlingRateLimit"), 50),
    "apiGatewayBurst": (lambda deployment: throttling(deployment).get("throttlingBurstLimit"), 20),
    "domain": (lambda deployment: deployment.outputs.get("domainUrl"), "https://integers.example.com/"),
    "hostedZone": (first(RECORD, "zoneId"), "Z123"),
    "functionUrls": (lambda deployment: len(deployment.of(FUNCTION_URL)), 0),
    "alarms": (lambda d: d.one(ALARM, name=f"{PREFIX}-throttles", region=HOME).inputs["threshold"], 5),
    "dashboard": (lambda d: (len(d.of(DASHBOARD)), coordinating("DASHBOARD")(d)), (1, "true")),
    "alarmEmails": (first(SUBSCRIPTION, "endpoint"), "operator@shop.example"),
    "alarmTopics": (
        lambda d: [topic.endswith(":operators") for topic in first(ALARM, "alarmActions")(d)],
        [False, True],
    ),
    "protect": (lambda deployment: any(table.protect for table in deployment.of(TABLE)), False),
}
"""Where a setting shows, and what there is with its value of `OTHER`. All others are inputs somewhere, as they are."""


def test_the_project_is_the_one_that_these_tests_run() -> None:
    assert yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["name"] == PROJECT


def test_only_the_regions_must_be_configured() -> None:
    """The engine asks every stack for a key that is declared without a default."""
    assert set(SCHEMA) - set(DEFAULTS) == {"regions"}


def test_the_programs_defaults_are_the_declared_ones() -> None:
    plain = settings(config(*TWO))

    assert [key for key in DEFAULTS if settings(config(*TWO, **{key: DEFAULTS[key]})) != plain] == []


@pytest.mark.long
def test_every_declared_setting_changes_the_deployment() -> None:
    assert OTHER.keys() == DEFAULTS.keys() - {"allowUrlRegions"}, (
        "write a value into OTHER, and into CHANGES how it shows"
    )
    for key, (shown, expected) in CHANGES.items():
        changed = signed_for() if key in EXCLUDED else with_gateways()
        assert shown(changed) == expected, key
        assert shown(plain()) != expected, key


def inputs(deployment: Deployment) -> set[tuple[str, str, str]]:
    """Return every input of a deployment with the resource that it is of, and every text within as it is."""
    return {
        (resource.urn, key, json.dumps(value).replace('\\"', '"'))
        for resource in deployment.resources
        for key, value in resource.inputs.items()
        if not isinstance(value, pulumi.Asset | pulumi.Archive)
    }


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(OTHER.keys() - CHANGES.keys()))
def test_a_setting_is_an_input_of_what_is_deployed(key: str) -> None:
    changed = inputs(deploy(config(*TWO, **{key: OTHER[key]}))) - inputs(plain())

    written = re.compile(rf"(?<![\w.]){re.escape(json.dumps(OTHER[key]).strip(chr(34)))}(\.0)?(?![\w.])")
    assert any(written.search(text) for _, _, text in changed), "use it, or write into CHANGES how it shows"


def test_the_program_knows_the_declared_settings_and_no_others() -> None:
    (line,) = refusals(config(*TWO, nonesuch=1))

    assert line.partition("known are ")[2].split(", ") == sorted(SCHEMA)


def test_every_setting_is_described_and_has_its_type() -> None:
    types = {"array": list, "string": str, "integer": int, "boolean": bool, "object": dict}

    for key, entry in SCHEMA.items():
        assert len(entry["description"]) > 20, key
        assert type(entry.get("default", ["eu-west-1"])) is types[entry["type"]], key


@pytest.mark.slow
def test_the_local_stack_reaches_no_service_of_aws() -> None:
    stack = cast("dict[str, Any]", yaml.safe_load((ROOT / "local" / "Pulumi.local.yaml").read_text())["config"])
    (endpoints,) = stack["aws:endpoints"]
    types = {
        r.type.split(":")[1]
        for r in (*with_gateways().resources, *signed_for().resources)
        if r.custom and r.type != STASH
    }
    named = {"cloudwatch/logGroup": "logs", "cloudwatch/eventRule": "events", "cloudwatch/eventTarget": "events"}
    services = {named.get(kind, kind.split("/")[0]) for kind in types}

    assert "events" in services
    assert services | {"sts"} == set(endpoints)
    assert {*endpoints.values()} == {"%ENDPOINT%"}


@pytest.mark.parametrize("key", ["aws.region", "awsRegion", "aws:region", "aws-region"])
def test_the_home_region_in_the_projects_namespace_is_refused(key: str) -> None:
    (line,) = refusals(config(HOME) | {f"{PROJECT}:{key}": "eu-west-1"})

    assert f"{key}: there is no such setting; did you mean 'aws:region'?" in line


@pytest.mark.parametrize("namespace", ["globalintegers", "global_integers", "Global-Integers", "global-integer"])
def test_a_misspelt_namespace_is_refused(namespace: str) -> None:
    """Pulumi hands it over without a word: the URLs would stay public."""
    (line,) = refusals(config(HOME) | {f"{namespace}:authorization": "AWS_IAM"})

    assert f"{namespace}:authorization: nothing reads the namespace '{namespace}'" in line
    assert f"did you mean {PROJECT}:authorization?" in line


@pytest.mark.parametrize("key", ["aws:profile", "pulumi:tags", "datadog:apiKey", "integers:x"])
def test_other_namespaces_are_left_alone(key: str) -> None:
    assert settings(config(HOME) | {key: "work"}).regions == (HOME,)
