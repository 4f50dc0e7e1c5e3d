"""The integers that a caller of a region's URL gets."""

from typing import Any

import pytest

from tests.lambda_.coordinator_calls import AS_DEPLOYED, delete_item, item, laid_out
from tests.lambda_.fixtures import Ask, Stack


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_mints_the_regions_next_integers(ask: Ask, stack: Stack, method: str) -> None:
    laid_out(counters=["integers", "orders"])
    paths = ("/", "/", "/orders", "/?count=4", "/?count=1", "/")

    responses = [ask(method, path, "eu-west-1") for path in paths]

    assert [response["statusCode"] for response in responses] == [200] * len(paths)
    assert [response["document"] for response in responses] == [
        {"counter": "integers", "region": "eu-west-1", "integer": 2},
        {"counter": "integers", "region": "eu-west-1", "integer": 5},
        {"counter": "orders", "region": "eu-west-1", "integer": 2},
        {"counter": "integers", "region": "eu-west-1", "integers": [8, 11, 14, 17]},
        {"counter": "integers", "region": "eu-west-1", "integers": [20]},
        {"counter": "integers", "region": "eu-west-1", "integer": 23},
    ]


@pytest.mark.parametrize("path", ["/nonesuch", "/nonesuch?count=5", "/", "/?count=5"])
def test_a_counter_without_an_item_is_never_begun(ask: Ask, stack: Stack, path: str) -> None:
    laid_out(counters=AS_DEPLOYED)
    ask()
    delete_item(stack, "us-east-1")

    response = ask("POST", path)

    assert response["statusCode"] == 404
    assert response["headers"]["Content-Type"] == "application/problem+json"
    assert (response["document"]["title"], response["document"]["status"]) == ("Not Found", 404)
    assert f"no counter '{path.partition('?')[0][1:] or 'integers'}'" in response["document"]["detail"]
    assert (item(stack, "us-east-1", "nonesuch"), item(stack, "us-east-1")) == (None, None)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("HEAD", "/", {}, 405),
        ("PUT", "/", {}, 405),
        ("POST", "/?count=0", {}, 400),
        ("POST", "/?count=100001", {}, 400),
        ("POST", "/", {"idempotency_key": "a b"}, 400),
        ("GET", "/", {"purpose": "prefetch"}, 503),
        ("GET", "/" + "a" * 5000, {}, 414),
    ],
)
def test_a_refused_request_mints_nothing(
    ask: Ask, stack: Stack, method: str, path: str, headers: dict[str, Any], status: int
) -> None:
    laid_out()
    before = item(stack, "us-east-1")

    assert ask(method, path, **headers)["statusCode"] == status
    assert item(stack, "us-east-1") == before


def test_no_request_mints_more_than_is_allowed_at_once(ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a key has got before stays its own."""
    laid_out()
    before = ask("POST", "/?count=101", idempotency_key="k")["document"]["integers"]
    monkeypatch.setenv("MAX_BLOCK", "100")

    refused = ask("POST", "/?count=101")
    assert (refused["statusCode"], "Retry-After" in refused["headers"]) == (422, False)
    found = {key: refused["document"][key] for key in ("detail", "available", "maxBlock")}
    assert found == {
        "detail": "a request mints up to 100 integers here; ask for fewer at once",
        "available": 100,
        "maxBlock": 100,
    }
    assert ask("POST", "/?count=101", idempotency_key="k")["document"]["integers"] == before
    assert ask("POST", "/?count=100")["document"]["integers"][0] == 304, "nothing was minted in between"
    assert ask("GET", "/-/status")["document"]["maxBlock"] == 100
    assert ask("GET", "/-/health")["statusCode"] == 200
