"""`authorization: AWS_IAM`, the default: who signs and is allowed mints, by the commands of docs/api.md."""

import json
import shlex
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.credentials import Credentials

from global_integers_core.names import LIVE_ALIAS
from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.callers import REGION, block, curl, post, python, role_session, user
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


@pytest.fixture(scope="module")
def keys(signed: Machine, policy: Policy) -> Credentials:
    """Those of a user with this policy."""
    return user(Aws(signed.endpoint), policy["Statement"])


@pytest.fixture(scope="module")
def session(signed: Machine, policy: Policy) -> Credentials:
    """Those of a role's session with this policy."""
    return role_session(Aws(signed.endpoint), policy["Statement"], "caller")


def test_an_unsigned_call_is_refused_and_mints_nothing(url: str, keys: Credentials) -> None:
    _, before = curl(url, keys)

    assert [mint(url)[0], mint(url, "?count=1000")[0], mint(url, method="GET")[0]] == [403, 403, 403]

    assert curl(url, keys)[1]["integer"] == before["integer"] + 1


def test_an_allowed_user_mints_with_curl_and_in_python(url: str, keys: Credentials) -> None:
    status, first = curl(url, keys)
    assert status == 200

    status, block = curl(f"{url}?count=3", keys, "-X", "POST", "-H", "Idempotency-Key: signed-1")
    assert status == 200
    assert block["integers"] == [first["integer"] + n for n in (1, 2, 3)]
    assert curl(f"{url}?count=3", keys, "-X", "POST", "-H", "Idempotency-Key: signed-1") == (200, block)
    result = python(url, keys)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) == block["integers"][-1] + 1


def test_a_role_mints_with_its_session_token(url: str, session: Credentials) -> None:
    assert curl(url, session)[0] == 200
    result = python(url, session)
    assert result.returncode == 0, result.stderr

    without = Credentials(session.access_key, session.secret_key)
    assert curl(url, without)[0] == 403
    assert "403" in python(url, without).stderr


def test_the_policy_is_for_the_url_only(signed: Machine, keys: Credentials) -> None:
    functions = Aws(signed.endpoint, (keys.access_key, keys.secret_key)).client("lambda", REGION)

    with pytest.raises(functions.exceptions.ClientError, match="not authorized to perform: lambda:InvokeFunction "):
        functions.invoke(FunctionName=FUNCTION)


def test_each_part_of_the_policy_is_needed(signed: Machine, url: str, policy: Policy) -> None:
    """AWS requires both actions since October 2025. This server requires the first only."""
    of_url, of_function = policy["Statement"]
    assert (of_url["Action"], of_function["Action"]) == ("lambda:InvokeFunctionUrl", "lambda:InvokeFunction")
    of_others: list[Any] = json.loads(json.dumps(policy["Statement"]).replace(FUNCTION, f"{FUNCTION}-2"))

    for statements in ([], [of_function], of_others):
        assert curl(url, user(Aws(signed.endpoint), statements))[0] == 403, statements


def test_a_wrong_signature_is_refused(url: str, keys: Credentials) -> None:
    assert post(url, keys) == 200
    assert post(url, Credentials(keys.access_key, "x" * 40)) == 403
    assert post(url, keys, send_to=f"{url}?count=1000") == 403
    assert post(url, keys, later=timedelta(minutes=4)) == 200
    assert post(url, keys, later=timedelta(minutes=6)) == 403


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


def test_urls_are_opened_and_closed_again(signed: Machine, url: str, keys: Credentials) -> None:
    functions = Aws(signed.endpoint).client("lambda", REGION)
    up(signed, REGION, settings=("authorization=NONE",))
    for statement in STATEMENTS:
        functions.add_permission(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS, **statement)
    assert mint(url)[0] == 200

    up(signed, REGION, settings=("authorization=AWS_IAM",))

    assert mint(url)[0] == 403, "what is left lets nobody in"
    assert curl(url, keys)[0] == 200
    left = json.loads(functions.get_policy(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS)["Policy"])["Statement"]
    assert {statement["Sid"] for statement in left} == {entry["StatementId"] for entry in STATEMENTS}
    for options in commands():
        assert options.pop("Region") == REGION
        assert options.pop("FunctionName") == "global-integers-production-mint"
        functions.remove_permission(FunctionName=FUNCTION, **options)
    with pytest.raises(functions.exceptions.ResourceNotFoundException):
        functions.get_policy(FunctionName=FUNCTION, Qualifier=LIVE_ALIAS)
