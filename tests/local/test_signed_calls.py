"""`authorization: AWS_IAM`, the default: who signs and is allowed mints, by the commands of docs/api.md."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest
from machine import ROOT, Machine, mint

from local.resources import Aws

REGION = "eu-west-1"
API = (ROOT / "docs" / "api.md").read_text()
SECTION = API.partition("## Who may call")[2].partition("\n## ")[0]
FUNCTION = "global-integers-dev-mint"


def block(language: str) -> str:
    """The only block of code in this language in the section on callers."""
    (code,) = re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    return code


@pytest.fixture(scope="module")
def signed(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up(settings=("authorization=AWS_IAM",))
    assert result.returncode == 0, result.stderr
    yield machine
    machine.run("down")


@pytest.fixture(scope="module")
def url(signed: Machine) -> str:
    return signed.outputs()["urls"][REGION]


@pytest.fixture(scope="module")
def policy(signed: Machine) -> dict[str, Any]:
    """What the page tells callers to have, for this account and stack."""
    told = block("json").replace("123456789012", "000000000000")
    return json.loads(told.replace("global-integers-production-mint", FUNCTION))


@pytest.fixture
def caller(signed: Machine) -> Generator[Callable[..., dict[str, str]]]:
    """`caller(policy)`: a new user with this policy; the environment with its keys."""
    iam = Aws(f"http://127.0.0.1:{signed.port}").client("iam", "us-east-1")
    made: list[tuple[str, str]] = []

    def make(policy: dict[str, Any] | None) -> dict[str, str]:
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


def curl(url: str, keys: dict[str, str]) -> tuple[int, Any]:
    """The page's command, told to print the status too."""
    result = subprocess.run(
        ["bash", "-euc", block("sh").rstrip() + " -sS -w '\\n%{http_code}'"],
        env={**os.environ, "URL": url, "AWS_SESSION_TOKEN": "", **keys},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    body, _, status = result.stdout.rpartition("\n")
    return int(status), json.loads(body)


def test_an_unsigned_call_is_refused(url: str) -> None:
    assert mint(url)[0] == 403


def test_an_allowed_caller_mints_with_curl(url: str, caller: Any, policy: Any) -> None:
    keys = caller(policy)

    first, second = curl(url, keys), curl(url, keys)
    assert (first[0], second[0]) == (200, 200)
    assert second[1]["integer"] == first[1]["integer"] + 3


def test_an_allowed_caller_mints_in_python(url: str, caller: Any, policy: Any) -> None:
    result = subprocess.run(
        [sys.executable, "-c", f"url = {url!r}\n{block('python')}"],
        env={**os.environ, **caller(policy)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert int(result.stdout) % 3 == 2


def test_a_caller_without_a_policy_is_refused(url: str, caller: Any) -> None:
    assert curl(url, caller(None))[0] == 403


def test_a_caller_of_another_function_is_refused(url: str, caller: Any, policy: Any) -> None:
    other = json.loads(json.dumps(policy).replace(FUNCTION, f"{FUNCTION}-2"))

    assert curl(url, caller(other))[0] == 403


def test_the_action_on_the_url_is_needed(url: str, caller: Any, policy: Any) -> None:
    without = [s for s in policy["Statement"] if s["Action"] != "lambda:InvokeFunctionUrl"]

    assert len(without) == 1
    assert curl(url, caller({**policy, "Statement": without}))[0] == 403


def test_a_wrong_secret_is_refused(url: str, caller: Any, policy: Any) -> None:
    keys = caller(policy) | {"AWS_SECRET_ACCESS_KEY": "x" * 40}

    assert curl(url, keys)[0] == 403
