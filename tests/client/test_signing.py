"""The client signs requests as botocore does. tests/client/test_integers.py sends them to a server with IAM."""

import datetime as dt
from itertools import product
from unittest.mock import Mock

import botocore.auth
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from global_integers import CannotSign, Integers
from global_integers.minting.signing import Signature, signatures

from tests.client.callers import TypeScriptCaller

URL = "https://abc.lambda-url.eu-west-1.on.aws/"
KEYS = Credentials("AKIDEXAMPLE", "secret", "token")


def test_the_signature_is_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = dt.datetime(2026, 11, 21, 12)  # noqa: DTZ001 (botocore's own is without)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", Mock(return_value=noon))
    headers = {"Accept": "application/json", "Idempotency-Key": "k"}
    paths = ("?count=3", "orders?count=100000", "-/health", "orders/17", "")
    for method, path in product(("GET", "POST", "PUT"), paths):
        request = httpx.Request(method, URL + path, headers=headers)
        Signature("eu-west-1", KEYS).sign(request)

        expected = AWSRequest(method=method, url=URL + path, data=b"", headers=headers)
        SigV4Auth(KEYS, "lambda", "eu-west-1").add_auth(expected)
        assert request.headers["authorization"] == expected.headers["Authorization"]
        assert request.headers["x-amz-security-token"] == "token"
        assert "accept" in request.headers["authorization"]


def test_the_signature_for_typescript_is_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = dt.datetime(2026, 11, 21, 12)  # noqa: DTZ001 (botocore's own is without)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", Mock(return_value=noon))
    keys = {"accessKeyId": KEYS.access_key, "secretAccessKey": KEYS.secret_key, "sessionToken": KEYS.token}
    caller = TypeScriptCaller()
    domain = "https://eu-west-1.integers.example.com:8443/a%20path/"
    for url, service in ((URL, "lambda"), (domain, "execute-api")):
        for path, key in product(
            ("?count=3", "orders?count=100000", "-/health", "-/status?counter=a-b_c"), ("k", '"a,b"')
        ):
            headers = {"accept": "application/json", "idempotency-key": key}
            asked = {"method": "POST", "url": url + path, "headers": headers, "of": "eu-west-1", "service": service}
            made = caller.ask("sign", keys=keys, date=f"{noon.isoformat()}Z", **asked)["value"]

            expected = AWSRequest(method="POST", url=url + path, data=b"", headers=headers)
            SigV4Auth(KEYS, service, "eu-west-1").add_auth(expected)
            assert made["authorization"] == expected.headers["Authorization"]
    caller.end()


def test_only_function_urls_are_signed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    urls = {"eu-west-1": URL, "us-east-1": "http://127.0.0.1:4566/"}

    assert list(signatures(urls, None)) == ["eu-west-1"]
    assert list(signatures(urls, False)) == []
    assert list(signatures(urls, True)) == ["eu-west-1", "us-east-1"]


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")

    with pytest.raises(CannotSign, match="botocore finds none"):
        Integers({"eu-west-1": URL}, sign=True)
    assert signatures({"eu-west-1": URL}, None) == {}
