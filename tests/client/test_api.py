"""A response that isn't this API's counts as a failure of the region."""

import json
from http import HTTPStatus
from json import loads
from typing import Any

import httpx
import pytest
from global_integers import Refused
from global_integers.minting import api
from global_integers.minting.api import PAUSED, ApiResponse, Failure, FailureKind, MintedBlock
from mint.counters import _coordinator
from mint.model import RequestRefused

from components.domain.api import RESPONSES
from components.gateway.templates import problem
from local.server.ministack_server import LIMIT, THROTTLED
from tests.lambda_.recorded import Recorded, recorded

BLOCK = {"counter": "integers", "region": "eu-west-1", "first": 4, "last": 10, "stride": 3, "count": 3}


def response(
    status: int, document: Any = None, headers: dict[str, str] | None = None, *, content: bytes = b""
) -> ApiResponse:
    body = content if document is None else json.dumps(document).encode()
    own = {"Content-Type": "application/problem+json"} if document is not None else {}
    return ApiResponse("eu-west-1", status, httpx.Headers({**own, **(headers or {})}), body, HTTPStatus(status).phrase)


def answer(response: ApiResponse) -> Any:
    return api.mint("", 3).answer(response)


def test_a_block_is_its_integers() -> None:
    block = answer(response(200, BLOCK))

    assert block == MintedBlock("eu-west-1", 4, 3, 3, counter="integers")
    assert list(block.integers()) == [4, 7, 10]
    assert answer(response(200, BLOCK, {"Idempotency-Replayed": "true"})).replayed


def test_a_page_of_counters_is_read_or_a_failure() -> None:
    page = api.counters("a/layouts")
    assert page.path == "-/counters?limit=250&after=a%2Flayouts"
    assert page.answer(response(200, {"counters": ["b"], "next": "b"})) == (["b"], "b")
    assert page.answer(response(200, {"counters": []})) == ([], None)
    for document in ({}, {"counters": "b"}, {"counters": [1]}, {"counters": ["b"], "next": "a/layouts"}):
        failure = page.answer(response(200, document))
        assert isinstance(failure, Failure), document
        assert failure.kind is FailureKind.TRANSIENT


def test_what_is_not_json_is_a_failure() -> None:
    for content in (b"", b"<html>", b"[]", b"4", b"\xff\xfe", b"{", b"[" * 100_000):
        failure = answer(response(200, content=content))
        assert isinstance(failure, Failure), content[:9]
        assert failure.kind is FailureKind.TRANSIENT
        assert "not this API's" in failure.reason
    for charset in ("hex", "rot13", "idna", "undefined", "nonesuch"):
        content_type = {"Content-Type": f"text/html; charset={charset}"}
        assert answer(response(200, None, content_type, content=b"<html>")).kind is FailureKind.TRANSIENT, charset


@recorded("url")
def test_what_aws_answered_is_told_apart(answer: Recorded) -> None:
    phrase = HTTPStatus(answer.status).phrase
    found = ApiResponse("eu-west-1", answer.status, httpx.Headers(answer.headers), answer.body.encode(), phrase)
    failure = api.mint("", 3).answer(found)

    assert isinstance(failure, Failure)
    assert (failure.kind.name, failure.status) == (answer.means["client"], answer.status)
    assert failure.reason.startswith(f"{answer.status}: ")
    assert "None" not in failure.reason


@pytest.mark.parametrize(
    "body",
    [
        b'{"Message":null}',  # a Function URL that leads nowhere, or nobody may call
        b'{"Message":"Forbidden"}',
        b'{"message": "Missing Authentication Token"}',  # API Gateway
        b"",
        b"<h1>Blocked</h1>",
    ],
)
def test_whoever_is_forbidden_by_aws_learns_both_causes(body: bytes) -> None:
    refused = response(403, headers={"Content-Type": "application/json"}, content=body)

    assert answer(refused).kind is FailureKind.FORBIDDEN
    assert answer(refused).reason == ("403: Missing Authentication Token" if b"Token" in body else "403: Forbidden")
    assert "pip install botocore" in answer(refused).hint
    assert "The signer may not call this stack" in answer(refused._replace(signed=True)).hint
    for signed in (False, True):
        assert "may be from an earlier deployment" in answer(refused._replace(signed=signed)).hint


def test_whom_no_server_of_aws_refuses_has_the_right_url() -> None:
    unauthorized = answer(response(401, content=b"Unauthorized"))
    assert unauthorized.kind is FailureKind.REFUSED
    assert "pip install botocore" in unauthorized.hint
    assert "earlier deployment" not in unauthorized.hint
    assert answer(response(403, {"detail": "callers: not this counter"})).hint == "", "the function knows the caller"


def test_the_setting_that_lets_callers_create_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPEN_COUNTERS", raising=False)
    with pytest.raises(RequestRefused) as closed:
        _coordinator()

    refused = answer(response(403, {"detail": str(closed.value)}))
    assert "`pulumi config set openCounters true`" in refused.hint
    assert "`-c openCounters=true`" in str(Refused("eu-west-1", 403, refused.reason, {}, refused.hint))


def test_a_paused_region_is_called_so_wherever_it_answers() -> None:
    lambdas = {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded", "message": "Rate Exceeded."}
    http_api, rest_api = {"message": "Internal Server Error"}, problem(*RESPONSES["INTEGRATION_FAILURE"])
    json = {"Content-Type": "application/json"}

    assert answer(response(429, lambdas, json)).reason == f"429: {PAUSED}"
    assert answer(response(429, loads(THROTTLED), json)).reason == f"429: {PAUSED}. Not on AWS: {LIMIT}."
    assert answer(response(500, http_api, json)).reason == f"500: {PAUSED}, or its function failed"
    assert answer(response(503, rest_api, json)).reason == f"503: {PAUSED}, or its function failed"
    assert answer(response(503, {"detail": "a change of layout"})).reason == "503: a change of layout"
    assert answer(response(503, content=b"<html>")).reason == "503: Service Unavailable", "a proxy's"


def test_retry_after_is_in_seconds() -> None:
    seconds = {"5": 5, "0": 0, "3600": 60, "Wed, 21 Oct 2026 07:28:00 GMT": 0, "-1": 0}
    assert {text: answer(response(503, {}, {"Retry-After": text})).retry_after for text in seconds} == seconds
