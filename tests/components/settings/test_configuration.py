"""`Pulumi.yaml` tells users (and the engine) the settings and their defaults; the program must agree."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from components.settings.args import SETTINGS, Range
from global_integers_core.names import camel
from local.paths import ROOT
from tests.components.aws_answers import STASH
from tests.components.recording import Deployment
from tests.components.registrations import described
from tests.components.running import HOME, PROJECT, config, deploy, refusals, settings

SCHEMA: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
DEFAULTS = {key: entry["default"] for key, entry in SCHEMA.items() if "default" in entry}


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
    "paused": [HOME],
    "callers": {"arn:aws:iam::123456789012:role/shop": ["orders"]},
    "iamPath": "/shop/",
    "permissionsBoundary": "arn:aws:iam::123456789012:policy/boundary",
    "kmsKeys": {HOME: f"arn:aws:kms:{HOME}:123456789012:key/7d1e"},
    "tags": {"team": "shop"},
    "budget": 50,
    "corsOrigins": ["https://shop.example"],
    "apiGatewayRate": 50,
    "apiGatewayBurst": 20,
    "domain": "integers.example.com",
    "hostedZone": "example.com",
    "alarms": {"throttles": 5},
    "alarmEmails": ["operator@shop.example"],
    "alarmTopics": {HOME: f"arn:aws:sns:{HOME}:123456789012:operators"},
}
"""A value for every setting that is not its default. `allowUrlRegions` changes only what is refused, `waves` the order.

Those that are neither numbers nor true or false must be written here, and those that the others limit.
"""

NEEDED: dict[str, dict[str, Any]] = {
    "defaultCounter": {"counters": OTHER["counters"]},
    "maxCounters": {"openCounters": True},
    "budget": {"alarmEmails": OTHER["alarmEmails"]},
    "apiGatewayRate": {"apiGateway": True},
    "apiGatewayBurst": {"apiGateway": True},
    "hostedZone": {"domain": OTHER["domain"]},
    "functionUrls": {"domain": OTHER["domain"]},
}
"""Settings that change nothing, or are refused, without another one."""


def test_only_the_regions_must_be_configured() -> None:
    """The engine asks every stack for a key that is declared without a default."""
    assert set(SCHEMA) - set(DEFAULTS) == {"regions"}


def test_the_programs_defaults_are_the_declared_ones() -> None:
    plain = settings(config(HOME))

    assert [key for key in DEFAULTS if settings(config(HOME, **{key: DEFAULTS[key]})) != plain] == []


def test_every_setting_is_tried_with_another_value() -> None:
    assert OTHER.keys() == DEFAULTS.keys() - {"allowUrlRegions", "waves"}, "write a value into OTHER"


@pytest.mark.slow
@pytest.mark.parametrize("key", OTHER)
def test_a_setting_changes_what_is_deployed(key: str) -> None:
    """And a number is an input as it is, of one resource at least."""
    needed, value = NEEDED.get(key, {}), OTHER[key]
    before, after = (described(deploy(config(HOME, **each))) for each in (needed, {**needed, key: value}))

    assert before != after, "write into NEEDED what it needs"
    if type(value) is int:
        inputs = (each for place, made in after.items() for each in made.items() - before.get(place, {}).items())
        assert any(re.search(rf"(?<![\w.]){value}(?![\w.])", text) for _, text in inputs)


@pytest.mark.slow
def test_the_local_stack_reaches_no_service_of_aws(
    ruled: Deployment, signed_domain: Deployment, public_domain: Deployment
) -> None:
    stack = cast("dict[str, Any]", yaml.safe_load((ROOT / "local" / "Pulumi.local.yaml").read_text())["config"])
    (endpoints,) = stack["aws:endpoints"]
    made = (*ruled.resources, *signed_domain.resources, *public_domain.resources)
    types = {each.type.split(":")[1] for each in made if each.custom and each.type != STASH}
    named = {"cloudwatch/logGroup": "logs", "cloudwatch/eventRule": "events", "cloudwatch/eventTarget": "events"}
    services = {named.get(kind, kind.split("/")[0]) for kind in types}

    assert "events" in services
    assert services | {"sts"} == set(endpoints)
    assert {*endpoints.values()} == {"%ENDPOINT%"}


NO_SETTING = "there is no such setting; did you mean 'aws:region'?"
UNREAD = "nothing reads the namespace"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        *((f"{PROJECT}:{key}", NO_SETTING) for key in ("aws.region", "awsRegion", "aws:region", "aws-region")),
        ("globalintegers:authorization", f"{UNREAD} 'globalintegers'; did you mean {PROJECT}:authorization?"),
        ("global_integers:window", f"{UNREAD} 'global_integers'; did you mean {PROJECT}:window?"),
        ("Global-Integers:window", f"{UNREAD} 'Global-Integers'; did you mean {PROJECT}:window?"),
        ("global-integer:window", f"{UNREAD} 'global-integer'; did you mean {PROJECT}:window?"),
    ],
)
def test_a_misspelt_namespace_is_refused(key: str, said: str) -> None:
    """Pulumi hands it over without a word: without their authorization, the URLs would stay public."""
    assert refusals(config(HOME) | {key: "AWS_IAM"}) == [f"{key.removeprefix(f'{PROJECT}:')}: {said}"]


@pytest.mark.parametrize("key", ["aws:profile", "pulumi:tags", "datadog:apiKey", "integers:x"])
def test_other_namespaces_are_left_alone(key: str) -> None:
    assert settings(config(HOME) | {key: "work"}).regions == (HOME,)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("floors: {integers: 0777}", ["floors.integers: YAML reads 0777 as 511"]),
        ("floors: {integers: 1_000}", ["floors.integers: YAML reads 1_000 as 1000"]),
        ("floors: {integers: 190:20:30}", ["floors.integers: YAML reads 190:20:30 as 685230"]),
        ("floors: {a: +5, b: 0x1F}", ["floors.a: YAML reads +5 as 5", "floors.b: YAML reads 0x1F as 31"]),
        ("window: 0b11", ["window: YAML reads 0b11 as 3"]),
        ("window: 0o17", ["window: YAML reads 0o17 as 15"]),
        ("recovery: {loss: 20261129-1, above: 013_241}", ["recovery.above: YAML reads 013_241 as 5793"]),
        ("counters: [integers, 0123]", ["counters: YAML reads 0123 as 83"]),
        ("callers: {arn: [007]}", ["callers.arn: YAML reads 007 as 7"]),
        ("counters: [08, 1e3]", [f"counters: YAML reads {word} as something else" for word in ("08", "1e3")]),
        (
            "counters: [2026-13-01, 3d, 0x, '0777', 0o1__7]",
            ["counters: YAML reads 2026-13-01 as something else", "counters: YAML reads 0o1__7 as something else"],
        ),
        ("floors: {0123: 5, 1_000: 5, 2026: 5}", ["floors: YAML reads 0123 as 83", "floors: YAML reads 1_000 as 1000"]),
        ("window: 9\n  floors: {integers: 0777}", ["floors.integers: YAML reads 0777 as 511"]),
        ("x: &x {a: 013}\n  floors: {<<: *x}", ["x.a: YAML reads 013 as 11", "floors.<<.a: YAML reads 013 as 11"]),
        ("counters: [integers, 72225e2]", ["counters: YAML reads 72225e2 as something else"]),
        ("alarms: {latency: 1.50}", []),
        ('counters: [2026, "0777"]\n  other:floors: 0777\n  aws:x: 1_0', []),
        ("window: [", []),
    ],
)
def test_what_yaml_reads_as_another_number_is_refused(
    written: str, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text(f"config:\n  {PROJECT}:{written}\n")
    rest = "; write what you mean in digits only, or a name in quotes"
    *found, window = refusals(config(HOME) | {f"{PROJECT}:window": "0"})
    assert (found, window[:6]) == ([each + rest for each in read], "window")


def test_a_setting_that_is_not_below_config_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text(f"config: {{}}\n{PROJECT}:floors: {{integers: 5}}\n")
    assert refusals(config(HOME)) == ["floors: nothing reads it here; write it below `config`, indented"]


@pytest.mark.parametrize("empty", ["", "# only a comment\n", "config:\n"])
def test_an_empty_stack_file_says_what_is_missing(empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text(empty)
    assert [refusal.partition(":")[0] for refusal in refusals({})] == ["aws", "regions"]


def test_a_name_of_digits_may_be_stored_as_a_number() -> None:
    assert settings(config(HOME) | {f"{PROJECT}:counters": '["integers", 2026]'}).counters == ("integers", "2026")


@pytest.mark.parametrize(("stored", "read"), [("5000000", 5_000_000), ("0777", None), ("5e6", None), ("5.0", None)])
def test_an_integer_may_be_stored_as_a_string(stored: str, read: int | None) -> None:
    asked = config(HOME) | {f"{PROJECT}:floors": json.dumps({"integers": stored})}
    if read is None:
        assert refusals(asked)[0].startswith(f"floors.integers: '{stored}' is not an integer")
    else:
        assert settings(asked).floors == {"integers": read}


def test_a_setting_in_another_namespace_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("pulumi.log.warn", said.append)
    settings(config(HOME) | {"integers:window": "5", "shop:name": "a"})
    assert said == [f"integers:window: this program reads {PROJECT}:window only; is that what you mean?"]
