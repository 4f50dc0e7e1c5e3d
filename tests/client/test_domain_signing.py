"""Requests to a domain have signatures that every region accepts, checked here without the library that made them."""

import asyncio
import hmac
import json
import threading
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any

import botocore.compat
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from global_integers import AsyncIntegers, CannotSign, Integers

from tests.client.region_proxies import DOMAIN_URL, HOST, PATIENT

ALGORITHM = "AWS4-ECDSA-P256-SHA256"
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
KEY_ID, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "the-token"
CHECKING = threading.Lock()
"""One thread at a time sets botocore's clock, or the last one might leave another's time behind."""


def private_key(key_id: str, secret: str) -> ec.EllipticCurvePrivateKey:
    """Derive a key from AWS credentials (IAM guide, "Create a signed AWS API request", signing key for SigV4a).

    It is NIST SP 800-108's key derivation in counter mode, repeated until the result is below the curve's order.
    """
    for counter in range(1, 255):
        derived = b"\x00\x00\x00\x01" + ALGORITHM.encode() + b"\x00" + key_id.encode() + bytes([counter])
        derived = hmac.digest(b"AWS4A" + secret.encode(), derived + (256).to_bytes(4, "big"), sha256)
        if int.from_bytes(derived, "big") <= P256_ORDER - 2:
            return ec.derive_private_key(int.from_bytes(derived, "big") + 1, ec.SECP256R1())
    raise AssertionError("no key was found")


def check_any_region(request: httpx.Request) -> None:
    """Check an asymmetric signature.

    Raises:
        InvalidSignature: it isn't this request's.
    """
    algorithm, _, signature = request.headers["authorization"].partition(" ")
    fields = dict(part.split("=", 1) for part in signature.split(", "))
    date = request.headers["x-amz-date"]
    scope = f"{date[:8]}/execute-api/aws4_request"
    signed = fields["SignedHeaders"].split(";")
    assert (algorithm, fields["Credential"]) == (ALGORITHM, f"{KEY_ID}/{scope}")
    assert request.headers["x-amz-region-set"] == "*"
    assert {"host", "x-amz-date", "x-amz-region-set", "x-amz-security-token"} <= set(signed)
    canonical = "\n".join(
        [
            request.method,
            request.url.path,
            request.url.query.decode(),
            *(f"{name}:{request.headers[name].strip()}" for name in signed),
            "",
            fields["SignedHeaders"],
            sha256(request.content).hexdigest(),
        ]
    )
    text = "\n".join([ALGORITHM, date, scope, sha256(canonical.encode()).hexdigest()])
    public = private_key(KEY_ID, SECRET).public_key()
    public.verify(bytes.fromhex(fields["Signature"]), text.encode(), ec.ECDSA(SHA256()))


def check_one_region(request: httpx.Request, region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a signature for one region: botocore makes the same one at the same time."""
    expected = AWSRequest(request.method, str(request.url), data=request.content)
    for name in ("accept", "idempotency-key"):
        if name in request.headers:
            expected.headers[name] = request.headers[name]
    then = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")  # noqa: DTZ007 (botocore's own is without)
    with CHECKING, monkeypatch.context() as patched:
        patched.setattr("botocore.auth.get_current_datetime", lambda: then)
        SigV4Auth(Credentials(KEY_ID, SECRET, TOKEN), "execute-api", region).add_auth(expected)
    assert request.headers["authorization"] == expected.headers["Authorization"]


def test_the_derived_key_is_that_of_awss_own_example() -> None:
    """aws-c-auth, tests/aws-signing-test-suite/v4a, public-key.json."""
    numbers = private_key(KEY_ID, SECRET).public_key().public_numbers()

    assert f"{numbers.x:x}" == "b6618f6a65740a99e650b33b6b4b5bd0d43b176d721a3edfea7e7d2d56d936b1"
    assert f"{numbers.y:x}" == "865ed22a7eadc9c5cb9d2cbaca1b3699139fedc5043dc6661864218330c8e518"


class SignedDomain:
    """Two regions behind a domain, which want signatures if `closed`. It checks them as API Gateway does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, closed: bool) -> None:
        self._monkeypatch = monkeypatch
        self._closed = closed
        self._integers = count(1)
        self.signed: list[tuple[str, bool]] = []
        """The host of each request, and whether it was signed."""

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self.respond))

    def respond(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        signed = "authorization" in request.headers
        self.signed.append((host, signed))
        if self._closed and not signed:
            return httpx.Response(403, json={"message": "Missing Authentication Token"})
        if signed and host == HOST:
            check_any_region(request)
        elif signed:
            check_one_region(request, host.removesuffix(f".{HOST}"), self._monkeypatch)
        if request.url.path == "/-/status":
            return httpx.Response(200, content=json.dumps({"regions": ["eu-west-1", "us-east-1"]}))
        region = host.removesuffix(f".{HOST}") if host != HOST else "eu-west-1"
        if request.url.path == "/-/health":
            return httpx.Response(200, json={"status": "ok", "region": region})
        minted = 1 if "idempotency-key" in request.headers else next(self._integers)
        block = {"counter": "integers", "region": region, "first": minted, "last": minted, "stride": 2, "count": 1}
        return httpx.Response(200, json=block)


@pytest.fixture
def signed_domain(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SignedDomain]:
    """`signed_domain(closed=True)`: one that wants signatures. The environment has credentials."""
    for name, value in {"ACCESS_KEY_ID": KEY_ID, "SECRET_ACCESS_KEY": SECRET, "SESSION_TOKEN": TOKEN}.items():
        monkeypatch.setenv(f"AWS_{name}", value)

    def made(*, closed: bool) -> SignedDomain:
        return SignedDomain(monkeypatch, closed=closed)

    return made


@pytest.mark.parametrize(("sign", "first"), [(None, False), (True, True)])
def test_everything_is_signed_once_the_domain_wants_it(
    signed_domain: Callable[..., SignedDomain], sign: bool | None, first: bool
) -> None:
    closed = signed_domain(closed=True)
    with Integers(DOMAIN_URL, sign=sign, http=closed.client, **PATIENT) as integers:
        assert integers.next() == 1
        assert integers.next(key="a,b") == 1
        integers.health()  # asks every region

    assert closed.signed[0] == (HOST, first)
    assert all(signed for _, signed in closed.signed[1:])
    assert {host for host, _ in closed.signed} == {HOST, f"eu-west-1.{HOST}", f"us-east-1.{HOST}"}


def test_calls_that_are_refused_together_are_all_signed(signed_domain: Callable[..., SignedDomain]) -> None:
    closed = signed_domain(closed=True)

    async def mint() -> list[int]:
        refused = asyncio.Barrier(3)

        async def respond(request: httpx.Request) -> httpx.Response:
            response = closed.respond(request)
            if response.status_code == 403:
                await refused.wait()
            return response

        def client() -> httpx.AsyncClient:
            return httpx.AsyncClient(transport=httpx.MockTransport(respond))

        async with AsyncIntegers(DOMAIN_URL, http=client, **PATIENT) as integers:
            return await asyncio.gather(*(integers.next() for _ in range(3)))

    assert sorted(asyncio.run(mint())) == [1, 2, 3]


@pytest.mark.parametrize("sign", [None, False])
def test_an_open_domain_gets_no_signature(signed_domain: Callable[..., SignedDomain], sign: bool | None) -> None:
    opened = signed_domain(closed=False)
    with Integers(DOMAIN_URL, sign=sign, http=opened.client, **PATIENT) as integers:
        assert integers.next() == 1

    assert not any(signed for _, signed in opened.signed)


def test_without_awscrt_it_says_what_to_install(
    signed_domain: Callable[..., SignedDomain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(botocore.compat, "HAS_CRT", False)
    closed = signed_domain(closed=True)

    def refused(call: Callable[[], Any]) -> None:
        with pytest.raises(CannotSign, match=r'pip install "botocore\[crt\]"'):
            call()

    refused(lambda: Integers(DOMAIN_URL, sign=True))
    with Integers(DOMAIN_URL, http=closed.client) as integers:
        refused(integers.next)
        refused(integers.next)
