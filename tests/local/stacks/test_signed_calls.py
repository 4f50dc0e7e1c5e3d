"""`authorization: AWS_IAM`, the default: who signs and is allowed mints, by the commands of docs/api.md."""

import json
import shlex
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any

import pytest

from global_integers_core.names import LIVE_ALIAS
from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.callers import REGION, block, client, curl, keys_of, post, python
from tests.local.machine import Machine, mint, up

FUNCTION = "global-integers-dev-mint"

STATEMENTS: list[dict[str, Any]] = [
    {
        "StatementId": "FunctionURLAllowPublicAccess",
        "Action": "lambda:InvokeFunctionUrl",
        "Principal": "*",
        "FunctionUrlAuthType": "NONE",
    },
    {
        "StatementId": "FunctionURLAllowInvokeAction",
        "Action": "lambda:InvokeFunction",
        "Principal": "*",
        "InvokedViaFunctionUrl": True,
    },
]
"""Those that pulumi-aws adds where it creates a public URL, and leaves where the URL is made private."""

Policy = dict[str, Any]
Caller = Callable[[Policy | None], dict[str, str]]


@pytest.fixture(scope="module")
def signed(machines: Callable[[], Machine]) -> Machine:
    return up(machines(), REGION, settings=("authorization=AWS_IAM",))


@pytest.fixture(scope="module")
def url(signed: Machine) -> str:
    return signed.outputs()["urls"][REGION]


@pytest.fixture(scope="module")
def policy(signed: Machine) -> Policy:
    """The policy that the page gives callers, for this account and stack."""
    text = block("json").replace("123456789012", "000000000000")
    assert text.count("global-integers-production-mint") == 4, "with its alias and without, for each action"
    return json.loads(text.replace("global-integers-production-mint", FUNCTION))


@pytest.fixture
def caller(signed: Machine) -> Generator[Caller]:
    """`caller(policy)`: a new user with this policy; the environment with its keys."""
    iam = Aws(signed.endpoint).client("iam", "us-east-1")
    made: list[tuple[str, str]] = []

    def make(policy: Policy | None) -> dict[str, str]:
        name = f"caller-{len(made)}"
        iam.create_user(UserName=name)
        if policy is not None:
            iam.put_user_policy(UserName=name, PolicyName="mint", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        made.append((name, key["AccessKeyId"]))
        return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    yield make
    for name, key in made:
        iam.delete_access_key(UserName=name, AccessKeyId=key)
        for attached in iam.list_user_policies(UserName=name)["PolicyNames"]:
            iam.delete_user_policy(UserName=name, PolicyName=attached)
        iam.delete_user(UserName=name)


@pytest.fixture
def role(signed: Machine, policy: Policy) -> Generator[dict[str, str]]:
    """Temporary keys of a new role with the page's policy, as a function or a signed-on person has them."""
    iam = Aws(signed.endpoint).client("iam", "us-east-1")
    anyone = {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}
    trust = {"Version": "2012-10-17", "Statement": [anyone]}
    arn = iam.create_role(RoleName="caller", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName="caller", PolicyName="mint", PolicyDocument=json.dumps(policy))
    assumed = client(signed, "sts", keys_of("test", "test")).assume_role(RoleArn=arn, RoleSessionName="test")
    keys = assumed["Credentials"]
    yield keys_of(keys["AccessKeyId"], keys["SecretAccessKey"]) | {"AWS_SESSION_TOKEN": keys["SessionToken"]}
    iam.delete_role_policy(RoleName="caller", PolicyName="mint")
    iam.delete_role(RoleName="caller")


def test_an_unsigned_call_is_refused_and_mints_nothing(url: str, caller: Caller, policy: Policy) -> None:
    keys = caller(policy)
    _, before = curl(url, keys)

    assert [mint(url)[0], mint(url, "?count=1000")[0], mint(url, method="GET")[0]] == [403, 403, 403]

    assert curl(url, keys)[1]["integer"] == before["integer"] + 1


def test_an_allowed_user_mints_with_curl(url: str, caller: Caller, policy: Policy) -> None:
    keys = caller(policy)
    status, first = curl(url, keys)
    assert status == 200

    status, block = curl(f"{url}?count=3", keys, "-X", "POST", "-H", "Idempotency-Key: signed-1")
    assert status == 200
    assert block["integers"] == [first["integer"] + n for n in (1, 2, 3)]
    assert curl(f"{url}?count=3", keys, "-X", "POST", "-H", "Idempotency-Key: signed-1") == (200, block)


def test_an_allowed_user_mints_in_python(url: str, caller: Caller, policy: Policy) -> None:
    result = python(url, caller(policy))

    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= 1


def test_a_role_mints_with_its_session_token(url: str, role: dict[str, str]) -> None:
    assert curl(url, role)[0] == 200
    result = python(url, role)
    assert result.returncode == 0, result.stderr

    assert curl(url, role | {"AWS_SESSION_TOKEN": ""})[0] == 403
    assert "403" in python(url, {name: role[name] for name in keys_of("", "")}).stderr


def test_the_policy_is_for_the_url_only(signed: Machine, role: dict[str, str]) -> None:
    functions = client(signed, "lambda", role)

    with pytest.raises(functions.exceptions.ClientError, match="not authorized to perform: lambda:InvokeFunction "):
        functions.invoke(FunctionName=FUNCTION)


def test_the_policy_has_both_actions(policy: Policy) -> None:
    """AWS requires both since October 2025. This server requires the first only."""
    assert [statement["Action"] for statement in policy["Statement"]] == [
        "lambda:InvokeFunctionUrl",
        "lambda:InvokeFunction",
    ]


def test_a_caller_without_a_policy_is_refused(url: str, caller: Caller) -> None:
    assert curl(url, caller(None))[0] == 403


def test_a_caller_of_another_function_is_refused(url: str, caller: Caller, policy: Policy) -> None:
    other = json.loads(json.dumps(policy).replace(FUNCTION, f"{FUNCTION}-2"))

    assert curl(url, caller(other))[0] == 403


def test_the_action_on_the_url_is_needed(url: str, caller: Caller, policy: Policy) -> None:
    without = [s for s in policy["Statement"] if s["Action"] != "lambda:InvokeFunctionUrl"]

    assert len(without) == 1
    assert curl(url, caller({**policy, "Statement": without}))[0] == 403


def test_a_wrong_signature_is_refused(url: str, caller: Caller, policy: Policy) -> None:
    keys = caller(policy)

    assert post(url, keys) == 200
    assert post(url, keys | {"AWS_SECRET_ACCESS_KEY": "x" * 40}) == 403
    assert post(url, keys, send_to=f"{url}?count=1000") == 403
    assert post(url, keys, later=timedelta(minutes=4)) == 200
    assert post(url, keys, later=timedelta(minutes=6)) == 403


def test_the_demo_says_what_it_needs(signed: Machine) -> None:
    shown = signed.run("demo")

    assert shown.returncode == 1
    assert "authorization: AWS_IAM" in shown.stderr
    assert "-c authorization=NONE" in shown.stderr


def commands() -> list[dict[str, str]]:
    """Return the options of the page's commands, by their names in Lambda's API."""
    section = (ROOT / "docs" / "runbook.md").read_text().partition("## Make a public stack private")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("aws ")]
    found: list[dict[str, str]] = []
    for line in lines:
        program, service, command, *options = shlex.split(line)
        assert (program, service, command) == ("aws", "lambda", "remove-permission")
        names = ["".join(part.capitalize() for part in name[2:].split("-")) for name in options[::2]]
        found.append(dict(zip(names, options[1::2], strict=True)))
    return found


def test_urls_are_opened_and_closed_again(signed: Machine, url: str, caller: Caller, policy: Policy) -> None:
    functions = Aws(signed.endpoint).client("lambda", REGION)
    up(signed, REGION, settings=("authorization=NONE",))
    for statement in STATEMENTS:
        functions.add_permission(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS, **statement)
    assert mint(url)[0] == 200

    up(signed, REGION, settings=("authorization=AWS_IAM",))

    assert mint(url)[0] == 403, "what is left lets nobody in"
    assert curl(url, caller(policy))[0] == 200
    left = json.loads(functions.get_policy(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS)["Policy"])["Statement"]
    assert {statement["Sid"] for statement in left} == {entry["StatementId"] for entry in STATEMENTS}
    for options in commands():
        assert options.pop("Region") == REGION
        assert options.pop("FunctionName") == "global-integers-production-mint"
        functions.remove_permission(FunctionName=FUNCTION, **options)
    with pytest.raises(functions.exceptions.ResourceNotFoundException):
        functions.get_policy(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS)
