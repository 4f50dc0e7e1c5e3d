"""Every event that Lambda can deliver gets a well-formed response, never an error of the function."""

import json
import logging
from typing import Any

import mint.handler
import mint.minting
import pytest
from aws_client.service import ATTEMPTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mint.api.request import received
from mint.model import Block, CounterItem, NoItem
from mint.table import CounterTable

from global_integers_core.lattice import MAX_INTEGER, Layout
from global_integers_core.records import Recorded
from tests.lambda_.aws_client.faults import answering, whole
from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import Ask, Stack, forget

STATUSES = {200, 400, 403, 404, 405, 413, 414, 422}

text = st.text(max_size=80)
header = st.dictionaries(
    st.sampled_from(["accept", "idempotency-key", "Accept", "x", "host"]) | text,
    text | st.just("text/html,*/*;q=0.8"),
    max_size=6,
)
path = (
    st.sampled_from(["/", "/integers", "/-/health", "/-/counters", "/integers/1001", "/../", "/a%2Fb", "//"])
    | text
    | text.map(lambda t: "/" + t)
)
query = text | st.builds("count={}".format, st.integers() | text)
http = st.fixed_dictionaries(
    {}, optional={"method": st.sampled_from(["GET", "POST", "PUT", "HEAD"]) | text, "path": path}
)
event: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"requestContext": st.fixed_dictionaries({"http": http}), "rawPath": path, "headers": header},
    optional={
        "rawQueryString": query,
        "queryStringParameters": st.dictionaries(text, text, max_size=3),
        "body": text | st.just("x" * 100_000),
        "isBase64Encoded": st.booleans(),
        "cookies": st.lists(text, max_size=3),
    },
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
odd_event = st.dictionaries(
    st.sampled_from(["requestContext", "rawPath", "headers", "rawQueryString", "body"]), anything, max_size=5
)


class Table:
    def mint(self, _: str) -> Block:
        return Block(1, 3, 1)

    def mint_block(self, _: str, count: int) -> Block:
        return Block(1, 3, count)

    def recorded(self, _: str) -> Recorded:
        return Recorded((Layout(1, 1000, ("us-east-1", "eu-west-1")),))

    def find(self, counter: str) -> CounterItem | None:
        return CounterItem(2000, 3, MAX_INTEGER, 1, fenced=False, attributes={}) if counter == "integers" else None

    def item(self, counter: str) -> CounterItem:
        item = self.find(counter)
        if item is None:
            raise NoItem
        return item


class Receipts:
    def find(self, _key: object, _count: int) -> None:
        return None

    def keep(self, _key: object, block: Block) -> tuple[Block, bool]:
        return block, False


@pytest.fixture
def _in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables in memory: no request of this test needs a real one."""
    monkeypatch.setattr(mint.minting, "table", Table)
    monkeypatch.setattr(mint.minting, "minter", Table)
    monkeypatch.setattr(mint.minting, "receipts", Receipts)
    monkeypatch.setenv("DEFAULT_COUNTER", "integers")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.mark.usefixtures("_in_place")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(event | odd_event)
def test_every_event_gets_a_well_formed_response(event: dict[str, Any]) -> None:
    response = mint.handler.handler(event, None)

    assert response["statusCode"] in STATUSES
    assert all(isinstance(name, str) and isinstance(value, str) for name, value in response["headers"].items())
    assert all(value.isprintable() for value in response["headers"].values())
    json.dumps(response).encode()
    if received(event).method == "HEAD":
        assert response["body"] == ""
    elif response["headers"]["Content-Type"].startswith("text/html"):
        assert received(event).method == "GET"
        assert response["body"].endswith("</html>\n")
    elif response["statusCode"] == 200:
        assert response["body"]
    else:
        document = json.loads(response["body"])
        assert response["headers"]["Content-Type"] == "application/problem+json"
        assert document["status"] == response["statusCode"]
        assert len(document["detail"]) < 300


def test_an_empty_event_is_a_problem_too() -> None:
    response = mint.handler.handler({}, None)

    assert response["statusCode"] == 500
    assert json.loads(response["body"])["status"] == 500


def test_an_unexpected_error_has_no_body_after_head() -> None:
    response = mint.handler.handler({"requestContext": {"http": {"method": "HEAD"}}, "rawPath": "/-/health"}, None)

    assert (response["statusCode"], response["body"]) == (500, "")


def test_minting_logs_nothing_that_lambda_would_keep(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    laid_out()
    with caplog.at_level(logging.INFO):
        assert [ask("POST", path)["statusCode"] for path in ("/", "/?count=3")] == [200, 200]

    assert caplog.records == []


def test_an_unexpected_error_is_logged_and_not_shown(
    ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(CounterTable, "mint", broken)
    with caplog.at_level(logging.ERROR):
        response = ask()

    assert response["statusCode"] == 500
    assert "42" not in response["body"]
    assert "request-1" in caplog.text
    assert "Traceback" in caplog.text
    assert "the secret is 42" in caplog.text


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("AccessDeniedException", "/"),
        ("ExpiredTokenException", "/?count=2"),
        ("InvalidSignatureException", "/integers/1"),
        ("UnrecognizedClientException", "/-/health"),
    ],
)
def test_a_signer_that_is_not_accepted_is_logged(
    ask: Ask, stack: Stack, code: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = whole({"__type": f"com.amazon.coral.service#{code}", "message": "no"}, 400)
    with answering(refused) as server:
        stack.monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
        response = ask("GET", path)
        forget()

    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "5")
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert code in caplog.text
    assert len(server.requests) == 2


def test_an_error_that_the_function_causes_is_still_unexpected(ask: Ask, stack: Stack) -> None:
    with answering(whole({"__type": "x#ValidationException", "message": "no"}, 400)) as server:
        stack.monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
        assert ask()["statusCode"] == 500
        forget()


def test_a_disabled_key_is_told_by_the_write_alone(ask: Ask, stack: Stack) -> None:
    disabled = {"__type": "x#ValidationException", "message": "KMS key disabled error: a is disabled."}
    with answering(whole(disabled, 400)) as server:
        stack.monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
        response = ask()
        forget()

    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")
    assert [b"DynamoDB_20120810.UpdateItem" in request.raw for request in server.requests] == [True] * ATTEMPTS


def test_snapstart_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")

    with pytest.raises(RuntimeError, match="SnapStart is not supported"):
        mint.minting.prepare()


@pytest.mark.parametrize("path", ["/-/health", "/integers/1", "/integers/0"])
def test_head_is_answered_like_get_without_the_body(ask: Ask, stack: Stack, path: str) -> None:
    laid_out()

    head, get = ask("HEAD", path), ask("GET", path)

    assert (head["statusCode"], head["headers"]) == (get["statusCode"], get["headers"])
    assert (head["body"], bool(get["body"])) == ("", True)
