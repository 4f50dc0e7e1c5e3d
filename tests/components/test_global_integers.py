"""The whole deployment as a component: in a preview, twice in one program, and for programs in other languages."""

import re
import socket
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from components import GlobalIntegers, GlobalIntegersArgs
from components.settings import args_of_stack
from components.settings.values import NOT_LATER
from components.testing import arn
from local.engine.program import UNKNOWN
from tests.components.aws_answers import ALARM, FUNCTION, TABLE
from tests.components.recording import Aws, Deployment
from tests.components.registrations import CONFIGURATIONS, REGISTERED
from tests.components.running import PROJECT, STACK, THREE, config, deploy, deploy_badly
from tests.docs.test_words import retired


@pytest.mark.slow
def test_a_preview_connects_to_nothing_and_shows_all(
    signed_domain: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_socket: socket.socket, ip_address: object) -> None:
        raise AssertionError(f"the program connects to {ip_address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    preview = deploy(CONFIGURATIONS["signed_domain"], aws=Aws(preview=True))

    shown, made = (sorted((r.type, r.name) for r in run.resources) for run in (preview, signed_domain))
    assert shown == made
    outputs = preview.outputs
    assert outputs["regions"] == list(THREE)
    assert outputs["layout"] == {region: {"offset": offset, "stride": 3} for offset, region in enumerate(THREE, 1)}
    assert outputs["urls"] == outputs["gatewayUrls"] == dict.fromkeys(THREE, UNKNOWN)
    assert (outputs["domainUrl"], outputs["domainGatewayUrl"]) == (UNKNOWN, UNKNOWN)


def two_in_one_program() -> None:
    """Another Pulumi program with two deployments, in five lines and two more."""
    orders = GlobalIntegers("orders", GlobalIntegersArgs(home="us-east-1", regions=["us-east-1", "eu-west-1"]))
    pulumi.export("orders", orders.urls)
    # So do programs in other languages hand it over.
    asked = {"home": "eu-west-1", "regions": ["eu-west-1"], "prefix": "t", "memory_size": 512.0}
    tickets = GlobalIntegers("tickets", asked)  # pyright: ignore[reportArgumentType]
    pulumi.export("tickets", tickets.urls)


@pytest.mark.slow
def test_two_in_one_program_share_nothing() -> None:
    deployment = deploy({}, program=two_in_one_program)

    assert set(deployment.outputs) == {"orders", "tickets"}
    assert list(deployment.outputs["orders"]) == ["us-east-1", "eu-west-1"]
    assert deployment.one(FUNCTION, name="t-mint").inputs["memorySize"] == 512
    for name, prefix in {"orders": f"{PROJECT}-{STACK}-orders-", "tickets": "t-"}.items():
        own = [resource for resource in deployment.resources if resource.name.startswith(name)]
        assert {r.inputs["name"].startswith(prefix) for r in own if r.type in (TABLE, FUNCTION)} == {True}
        (reconcile,) = (resource for resource in own if resource.name.endswith("-reconcile"))
        tables = {resource.urn for resource in own if resource.type == TABLE and "receipts" not in resource.name}
        others = {resource.urn for resource in deployment.resources if not resource.name.startswith(name)}
        assert tables <= reconcile.dependencies
        assert not reconcile.dependencies & others


KEY = "arn:aws:kms:us-east-1:123456789012:key/7d1e"
BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"


def with_outputs() -> None:
    """Another Pulumi program, which makes a topic, a key and a boundary, and hands their outputs over."""
    topic = aws.sns.Topic("topic", name="operators", region="us-east-1").arn
    GlobalIntegers(
        "orders",
        GlobalIntegersArgs(
            home="us-east-1",
            regions=["us-east-1"],
            api_gateway=True,
            kms_keys={"us-east-1": topic.apply(lambda _: KEY)},
            alarm_topics={"us-east-1": topic},
            permissions_boundary=topic.apply(lambda _: BOUNDARY),
        ),
    )


@pytest.mark.slow
def test_values_that_are_known_later_reach_what_uses_them() -> None:
    deploy({}, program=with_outputs, aws=Aws(preview=True))
    deployment = deploy({}, program=with_outputs)
    topic = arn("sns", "us-east-1", "operators")

    assert {r.inputs["serverSideEncryption"]["kmsKeyArn"] for r in deployment.of(TABLE)} == {KEY}
    assert {r.inputs["kmsKeyArn"] for r in deployment.of(FUNCTION)} == {KEY}
    assert all(r.inputs["alarmActions"] == [topic] for r in deployment.of(ALARM) if "alarmActions" in r.inputs)
    assert {r.inputs["permissionsBoundary"] for r in deployment.of("aws:iam/role:Role")} == {BOUNDARY}
    policies = [r.inputs["policy"] for r in deployment.of("aws:iam/rolePolicy:RolePolicy")]
    assert sum(KEY in policy for policy in policies) >= 5, "coordinator and function, next and own; gateway"


def test_an_output_that_decides_which_resources_exist_is_refused_by_name() -> None:
    def program() -> None:
        later: Any = pulumi.Output.from_input("later")
        asked: dict[str, Any] = {
            "regions": ["us-east-1", later],
            "counters": later,
            "floors": {"integers": later},
            "domain": later,
        }
        more: dict[str, Any] = {
            "callers": {"arn": [later]},
            "alarm_emails": [later],
            "alarm_topics": later,
            "memory_size": later,
            "kms_keys": {later: "arn"},
        }
        GlobalIntegers("orders", GlobalIntegersArgs(home="us-east-1", **asked, **more))

    error, deployment = deploy_badly({}, program=program)

    refused = sorted(line.partition(":")[0].strip() for line in str(error).splitlines() if NOT_LATER in line)
    wanted = [
        "alarm_emails",
        "alarm_topics",
        "callers.arn",
        "counters",
        "domain",
        "floors.integers",
        "kms_keys",
        "memory_size",
        "regions",
    ]
    assert (refused, deployment.resources) == (wanted, [])
    assert "object at 0x" not in str(error)


def refused_once_known(setting: str, value: Any) -> str:
    """Return the error of a program whose setting, or an entry of it, is an output with this value."""

    def program() -> None:
        name, _, entry = setting.partition(".")
        later: Any = pulumi.Output.from_input(value)
        asked: dict[str, Any] = {name: {entry: later} if entry else later}
        GlobalIntegers("orders", GlobalIntegersArgs(home="us-east-1", regions=["us-east-1"], **asked))

    error, _ = deploy_badly({}, program=program)
    return str(error)


@pytest.mark.parametrize("value", [None, "", 5])
@pytest.mark.parametrize("setting", ["kms_keys.us-east-1", "alarm_topics.us-east-1", "permissions_boundary"])
def test_an_output_without_a_value_is_refused_once_it_is_known(setting: str, value: Any) -> None:
    """So is that of another stack which has no such output. Otherwise, there would be no key, and nobody would know."""
    assert f"{setting}: the output's value is {value!r}, and not an ARN" in refused_once_known(setting, value)


OF_ANOTHER_REGION = "arn:aws:kms:eu-west-1:123456789012:key/7d1e"


@pytest.mark.parametrize(
    ("setting", "value", "problem"),
    [
        ("kms_keys.us-east-1", OF_ANOTHER_REGION, "is a key of eu-west-1; a table needs a key of its own region"),
        (
            "alarm_topics.us-east-1",
            "arn:aws:sns:eu-west-1:123456789012:operators",
            "is in eu-west-1; an alarm can only notify a topic of its own region",
        ),
        ("tags.team", "aws:shop", "begins with aws:, which is for AWS only"),
        (
            "permissions_boundary",
            "boundary",
            "is not the ARN of a policy, like arn:aws:iam::123456789012:policy/b",
        ),
    ],
)
def test_an_output_with_a_wrong_value_is_refused_once_it_is_known(setting: str, value: str, problem: str) -> None:
    assert refused_once_known(setting, value) == f"{setting}: {value!r} {problem}"


@pytest.mark.slow
def test_what_a_program_changes_in_a_stacks_settings_counts() -> None:
    def program() -> None:
        args = args_of_stack()
        args.alarms = {"latency": 700}
        GlobalIntegers("integers", args)

    alarms = deploy(config("us-east-1"), program=program).of(ALARM)
    assert len(alarms) == len(deploy(config("us-east-1")).of(ALARM))
    assert 700 in [alarm.inputs.get("threshold") for alarm in alarms]


def test_names_on_aws_have_no_retired_word() -> None:
    texts = " ".join(path.read_text(encoding="utf-8") for path in REGISTERED)

    assert retired(re.findall(r"[\w-]+", texts)) == []
