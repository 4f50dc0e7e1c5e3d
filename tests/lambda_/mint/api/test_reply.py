"""Responses: JSON, plain text, the short form, and problem documents. The client chooses the format."""

import json
from http import HTTPStatus

import pytest
import yaml
from mint.api.formats import FORMATS, HTML, SHORT, preferred
from mint.api.reply import finished, json_response, problem_response
from mint.api.request import Problem, received

from local.paths import ROOT
from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.mint.api.test_request import brief

JSON = "application/json"
TEXT = "text/plain"


def test_the_pages_describe_every_format() -> None:
    api, page = ((ROOT / "docs" / name).read_text() for name in ("openapi.yaml", "api.md"))
    responses = yaml.safe_load(api)["components"]["responses"]

    assert {*responses["Minted"]["content"]} == {*FORMATS}
    assert {*responses["MintedOrPage"]["content"]} == {*FORMATS, HTML}
    assert [name for name in FORMATS if f"`Accept: {name}`" not in page] == [JSON], "the default needs none"


@pytest.mark.parametrize(
    ("accept", "expected", "with_html"),
    [
        ("*/*", JSON, JSON),
        ("", JSON, JSON),
        ("application/json", JSON, JSON),
        ("text/plain", TEXT, TEXT),
        ("text/*", TEXT, TEXT),
        ("text/plain, application/json", JSON, JSON),
        ("application/json;q=0.5, text/plain", TEXT, TEXT),
        ("text/plain;q=0.5, */*;q=0.1", TEXT, TEXT),
        ("text/plain;q=0, */*", JSON, JSON),
        ("text/plain;q=0, text/*", JSON, HTML),
        ("application/json;q=0.1, */*", TEXT, TEXT),
        ("text/*;q=0.1, application/json;q=0.5, text/plain", TEXT, TEXT),
        ("text/html", JSON, HTML),
        ("text/html;q=0", JSON, JSON),
        ("text/html;q=0.5, text/plain", TEXT, TEXT),
        ("text/plain, text/html", TEXT, TEXT),
        ("text/html, application/json", JSON, JSON),
        ("TEXT/PLAIN", TEXT, TEXT),
        ("text/plain;q=x", TEXT, TEXT),
        ("image/png", JSON, JSON),
        (",;,q=;;", JSON, JSON),
    ],
)
def test_the_best_of_what_is_accepted_is_sent(accept: str, expected: str, with_html: str) -> None:
    assert preferred(accept) == expected
    assert preferred(accept, HTML) == with_html


def document(**members: object) -> str:
    return json.dumps({"counter": "integers", "region": "us-east-1", **members})


def short(last: int, count: int) -> str:
    return document(first=1, last=last, stride=3, count=count)


@pytest.mark.parametrize(
    ("path", "accept", "media_type", "body"),
    [
        ("/", "*/*", JSON, document(integer=1)),
        ("/", TEXT, f"{TEXT}; charset=utf-8", "1\n"),
        ("/", SHORT, SHORT, short(1, 1)),
        ("/?count=1", "*/*", JSON, document(integers=[1])),
        ("/?count=3", TEXT, f"{TEXT}; charset=utf-8", "1\n4\n7\n"),
        ("/?count=3", SHORT, SHORT, short(7, 3)),
        ("/?count=1000", JSON, JSON, document(integers=[*range(1, 3000, 3)])),
        ("/?count=1000", TEXT, f"{TEXT}; charset=utf-8", "".join(f"{n}\n" for n in range(1, 3000, 3))),
        *(("/?count=1001", accept, SHORT, short(3001, 1001)) for accept in ("*/*", JSON, f"{TEXT}, {JSON};q=0.5")),
        *(("/?count=100000", accept, SHORT, short(299_998, 100_000)) for accept in (TEXT, SHORT)),
    ],
    ids=brief,
)
def test_the_client_chooses_the_format(
    ask: Ask, stack: Stack, path: str, accept: str, media_type: str, body: str
) -> None:
    laid_out()

    first, again = (ask("POST", path, accept=accept, idempotency_key="k") for _ in range(2))

    assert (first["body"], again["body"]) == (body, body)
    assert first["headers"] == {"Content-Type": media_type, "Cache-Control": "no-store", "Vary": "Accept"}
    assert again["headers"] == {**first["headers"], "Idempotency-Replayed": "true"}
    assert ask("GET", "/none", accept=accept)["headers"]["Content-Type"] == "application/problem+json"


def test_a_problem_has_its_headers_and_is_not_stored() -> None:
    response = problem_response(Problem(HTTPStatus.SERVICE_UNAVAILABLE, "try again", {"Retry-After": "1"}), "eu-west-1")

    assert response["headers"] == {
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
        "Retry-After": "1",
    }
    assert json.loads(response["body"]) == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "try again",
        "region": "eu-west-1",
    }


def test_without_its_body_a_response_is_the_same_otherwise() -> None:
    response = json_response({"a": 1}, HTTPStatus.CREATED)

    get, head = (received({"requestContext": {"http": {"method": method}}}) for method in ("GET", "HEAD"))
    assert finished(response, get) == response
    assert finished(response, head) == {**response, "body": ""}
    assert (response["statusCode"], response["body"]) == (201, '{"a": 1}')
