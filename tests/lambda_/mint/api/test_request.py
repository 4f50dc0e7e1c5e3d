"""What an event asks for."""

from base64 import b64encode
from typing import Any

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
import mint.handler
import pytest
from mint.api.request import (
    CounterRequest,
    ListCounters,
    MintRequest,
    OwnerOf,
    Problem,
    Request,
    received,
    request_of,
)

from tests.lambda_.coordinator_calls import item, laid_out
from tests.lambda_.fixtures import Ask, Stack


def event(method: str, path: str, query: str = "", **headers: str) -> dict[str, Any]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    http = {"http": {"method": method, "path": path}}
    return {"requestContext": http, "rawPath": path, "rawQueryString": query, "headers": sent}


def read(sent: dict[str, Any]) -> Request:
    return request_of(received(sent), "integers")


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/", "", MintRequest("integers")),
        ("POST", "/orders", "", MintRequest("orders")),
        ("POST", "/orders", "count=3", MintRequest("orders", 3)),
        ("POST", "//orders", "", MintRequest("orders")),
        ("POST", "///", "", MintRequest("integers")),
        ("GET", "/orders/7", "", OwnerOf("orders", 7)),
        ("HEAD", "/orders/7", "", OwnerOf("orders", 7)),
        ("GET", "//orders/7", "", OwnerOf("orders", 7)),
        ("PUT", "/orders", "", CounterRequest("create", "orders")),
        ("GET", "/-/counters", "", ListCounters(100, None)),
        ("HEAD", "/-/counters", "limit=5&after=orders", ListCounters(5, "orders")),
        ("GET", "/-/counters", "after=-check", ListCounters(100, "-check")),
        ("POST", "/-check", "", MintRequest("-check")),
    ],
)
def test_an_event_is_read(method: str, path: str, query: str, expected: object) -> None:
    assert read(event(method, path, query)) == expected


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("accept", "html"), [("text/html,*/*;q=0.8", True), ("*/*", False), ("application/json", False)]
)
def test_a_browser_is_told_an_owner_and_a_status_as_a_page(method: str, accept: str, html: bool) -> None:
    assert read(event(method, "/orders/7", accept=accept)) == OwnerOf("orders", 7)
    assert read(event(method, "/-/status", accept=accept)) == CounterRequest("status", "integers")
    assert received(event(method, "/", accept=accept)).html is html
    assert not received(event("POST", "/", accept=accept)).html


@pytest.mark.parametrize(
    ("path", "root"),
    [("/", "./"), ("", "./"), ("/orders", "./"), ("//orders/7", "../"), ("/orders/", "../"), ("/a/b/c", "../../")],
)
def test_links_begin_where_the_api_does(path: str, root: str) -> None:
    assert received(event("GET", path)).root == root


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_is_read(method: str) -> None:
    assert read(event(method, "/-/health")) == CounterRequest("health", "integers")


def test_headers_are_read_in_any_case() -> None:
    sent = event("POST", "/", IDEMPOTENCY_KEY="k", Accept="text/plain")

    assert read(sent) == MintRequest("integers", None, "k", "text/plain")


@pytest.mark.parametrize(
    ("accept", "expected"), [("text/html", CounterRequest("page", "integers")), ("*/*", MintRequest("integers"))]
)
def test_only_get_can_have_the_page(accept: str, expected: object) -> None:
    assert read(event("GET", "/", accept=accept)) == expected
    assert read(event("POST", "/", accept=accept)) == MintRequest("integers")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("HEAD", "/", "GET, POST"),
        ("PUT", "/", "GET, POST"),
        ("HEAD", "/orders", "GET, POST, PUT"),
        ("POST", "/orders/7", "GET, HEAD"),
        ("POST", "/-/health", "GET, HEAD"),
        ("DELETE", "/-/counters", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_possible_says_which_are(method: str, path: str, allow: str) -> None:
    with pytest.raises(Problem) as problem:
        read(event(method, path))

    assert (problem.value.status, problem.value.headers) == (405, {"Allow": allow})


@pytest.mark.parametrize("path", ["/orders/", "//orders/", "/-/"])
def test_a_path_that_ends_with_a_slash_says_so(path: str) -> None:
    with pytest.raises(Problem, match="the path ends with a slash") as problem:
        read(event("POST", path))

    assert problem.value.status == 404


def test_other_methods_mint_nothing_and_say_what_does(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, "us-east-1")

    for method in ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        response = ask(method)
        assert (response["statusCode"], response["headers"]["Allow"]) == (405, "GET, POST"), method
    assert item(stack, "us-east-1") == before


@pytest.mark.parametrize("path", ["/Orders", "/a/b", "/orders/", "/-x", "/..", "/" + "a" * 64, '/"', "/a b", "/é"])
def test_an_invalid_name_is_not_found(path: str) -> None:
    with pytest.raises(Problem) as problem:
        read(event("GET", path))

    assert problem.value.status == 404


@pytest.mark.parametrize(
    "sent",
    [
        {"sec_purpose": "prefetch"},
        {"sec_purpose": "prefetch;prerender"},
        {"sec_purpose": "prefetch;anonymous-client-ip"},
        {"purpose": "prefetch"},
        {"Purpose": "Prefetch"},
        {"x_moz": "prefetch"},
        {"x_purpose": "preview"},
        {"x_purpose": "instant, preview"},
        *(
            {header: word}
            for header in ("sec_purpose", "purpose", "x_purpose", "x_moz")
            for word in ("prefetch", "prerender", "preview")
        ),
    ],
)
def test_a_prefetch_mints_nothing(ask: Ask, stack: Stack, sent: dict[str, Any]) -> None:
    laid_out()
    before = item(stack, "us-east-1")

    refused = ask("GET", "/", **sent)

    assert (refused["statusCode"], "Retry-After" in refused["headers"]) == (503, False)
    assert item(stack, "us-east-1") == before
    assert ask("GET", "/", **sent, accept="text/html")["statusCode"] == 200  # the page
    assert ask("GET", "/integers/1", **sent)["statusCode"] == 200


def test_another_purpose_mints(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert ask("GET", "/", purpose="billing", x_purpose="orders")["statusCode"] == 200


def test_long_paths_and_bodies_are_refused(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, "us-east-1")
    request = {"requestContext": {"http": {"method": "POST"}}, "rawPath": "/", "body": "x" * 70_000}

    assert ask("GET", "/" + "a" * 5000)["statusCode"] == 414
    assert mint.handler.handler(request, None)["statusCode"] == 413
    assert item(stack, "us-east-1") == before


def test_a_body_is_measured_as_it_was_sent(stack: Stack) -> None:
    laid_out()
    for size, status in ((64 * 1024, 200), (64 * 1024 + 1, 413)):
        event = {
            "requestContext": {"http": {"method": "POST"}},
            "rawPath": "/",
            "body": b64encode(b"x" * size).decode(),
            "isBase64Encoded": True,
        }
        assert mint.handler.handler(event, None)["statusCode"] == status


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("POST", "/-check", ""),
        ("GET", "/-check", ""),
        ("PUT", "/-check", ""),
        ("GET", "/-check/7", ""),
        ("GET", "/-/status", "counter=-check"),
    ],
)
def test_no_caller_reaches_the_counter_of_the_check(method: str, path: str, query: str) -> None:
    """Function URLs and API Gateway always say by which domain name the request came."""
    sent = event(method, path, query)
    sent["requestContext"]["domainName"] = "abc.lambda-url.eu-west-1.on.aws"

    with pytest.raises(Problem) as problem:
        read(sent)
    assert problem.value.status in (400, 404)


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_the_check_only_mints(method: str) -> None:
    with pytest.raises(Problem):
        read(event(method, "/-check"))
