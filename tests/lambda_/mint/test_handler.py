"""Whatever Lambda could deliver gives a well-formed answer, never an exception."""

import json
from typing import Any

import mint.handler
import mint.runtime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mint.http.request import method_of
from mint.table import Block, UnknownCounter

from integers.layouts import Layout

ANSWERS = {200, 400, 403, 404, 405, 413, 414, 422}

text = st.text(max_size=80)
header = st.dictionaries(st.sampled_from(["accept", "idempotency-key", "Accept", "x", "host"]) | text, text, max_size=6)
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

    def check(self, _: str) -> None:
        return None

    def layouts(self, _: str) -> tuple[Layout, ...]:
        return (Layout(1, 1000, ("us-east-1", "eu-west-1")),)

    def exists(self, counter: str) -> bool:
        return counter == "integers"

    def numbers(self, counter: str) -> dict[str, int]:
        if counter != "integers":
            raise UnknownCounter
        return {"issued": 2000, "epoch": 1}


class Receipts:
    def once(self, _key: str, _counter: str, _count: int | None, mint: Any) -> tuple[Block, bool]:
        return mint(), False


@pytest.fixture
def _in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table is needed to read a request."""
    monkeypatch.setattr(mint.runtime, "table", Table)
    monkeypatch.setattr(mint.runtime, "minter", Table)
    monkeypatch.setattr(mint.runtime, "receipts", Receipts)
    monkeypatch.setenv("DEFAULT_COUNTER", "integers")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.mark.usefixtures("_in_place")
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(event | odd_event)
def test_any_event_gets_a_well_formed_answer(event: dict[str, Any]) -> None:
    answer = mint.handler.handler(event, None)

    assert answer["statusCode"] in ANSWERS
    assert all(isinstance(name, str) and isinstance(value, str) for name, value in answer["headers"].items())
    assert all(value.isprintable() for value in answer["headers"].values())
    json.dumps(answer).encode()
    if method_of(event) == "HEAD":
        assert answer["body"] == ""
    elif answer["statusCode"] == 200:
        assert answer["body"]
        if answer["headers"]["Content-Type"].startswith("text/html"):
            assert event["requestContext"]["http"]["method"] == "GET"
    else:
        document = json.loads(answer["body"])
        assert answer["headers"]["Content-Type"] == "application/problem+json"
        assert document["status"] == answer["statusCode"]
        assert len(document["detail"]) < 300
