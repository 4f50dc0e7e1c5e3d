"""The client signs requests as botocore does, and a server with IAM accepts them."""

import asyncio
import datetime as dt
from collections.abc import Callable, Generator
from typing import Any
from unittest.mock import Mock

import botocore.auth
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from global_integers import AsyncIntegers, CannotSign, Integers, Refused
from global_integers.signing import Signature, signatures

from local.resources import Aws
from tests.local.machine import Machine

URL = "https://abc.lambda-url.eu-west-1.on.aws/"
KEYS = Credentials("AKIDEXAMPLE", "secret", "token")


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = dt.datetime(2026, 11, 21, 12)  # noqa: DTZ001 (botocore's own is without)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", Mock(return_value=noon))


@pytest.mark.parametrize("path", ["?count=3", "orders?count=100000", "-/health", "orders/17", ""])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_the_signature_is_botocores(path: str, method: str, at_noon: None) -> None:
    request = httpx.Request(method, URL + path, headers={"Accept": "application/json", "Idempotency-Key": "k"})
    signed = next(Signature("eu-west-1", KEYS).sync_auth_flow(request))

    expected = AWSRequest(
        method=method, url=URL + path, data=b"", headers={"Accept": "application/json", "Idempotency-Key": "k"}
    )
    SigV4Auth(KEYS, "lambda", "eu-west-1").add_auth(expected)
    assert signed.headers["authorization"] == expected.headers["Authorization"]
    assert signed.headers["x-amz-security-token"] == "token"
    assert "accept" in signed.headers["authorization"]


def test_only_function_urls_are_signed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    urls = {"eu-west-1": URL, "local": "http://127.0.0.1:4566/"}

    assert {region: auth is not None for region, auth in signatures(urls, None).items()} == {
        "eu-west-1": True,
        "local": False,
    }
    assert signatures(urls, False) == {"eu-west-1": None, "local": None}
    assert None not in signatures(urls, True).values()


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")

    with pytest.raises(CannotSign, match="botocore finds none"):
        Integers({"eu-west-1": URL}, sign=True)
    assert signatures({"eu-west-1": URL}, None) == {"eu-west-1": None}


@pytest.fixture(scope="module")
def signed(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up("eu-west-1", settings=("authorization=AWS_IAM",))
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


async def _mint(urls: dict[str, str]) -> int:
    async with AsyncIntegers(urls, sign=True) as integers:
        return await integers.next()


@pytest.mark.server
def test_the_servers_iam_accepts_it(signed: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    iam: Any = Aws(f"http://127.0.0.1:{signed.port}").client("iam", "us-east-1")
    iam.create_user(UserName="caller")
    allowed = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", '
        '"Action": ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"], "Resource": "*"}]}'
    )
    iam.put_user_policy(UserName="caller", PolicyName="mint", PolicyDocument=allowed)
    key = iam.create_access_key(UserName="caller")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    urls = signed.outputs()["urls"]

    with Integers(urls, sign=True) as integers:
        first = integers.next()
        assert integers.next(key="a,b") == integers.next(key="a,b")
        assert integers.owner(first, "integers").minted
    assert asyncio.run(_mint(urls)) > first
    with Integers(urls) as unsigned, pytest.raises(Refused) as refused:
        unsigned.next()
    assert refused.value.status == 403
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with Integers(urls, sign=True) as wrong, pytest.raises(Refused):
        wrong.next()
