"""Callers use the counters that the setting `callers` gives them, and no others. Events are as AWS documents them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mint.handler
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mint.api.request import received
from mint.model import RequestRefused
from mint.permissions import Callers, as_role

from tests.lambda_.coordinator_calls import AS_DEPLOYED, laid_out
from tests.lambda_.fixtures import Stack, forget

EVENTS = Path(__file__).parent.parent / "events"
ROLE = "arn:aws:iam::123456789012:role"
SESSION = "arn:aws:sts::123456789012:assumed-role"
SHOP = f"{SESSION}/shop-web/i-0abc"
ALICE = "arn:aws:iam::123456789012:user/teams/alice"

Send = Callable[..., tuple[int, Any]]


def event(name: str) -> dict[str, Any]:
    return json.loads((EVENTS / f"{name}.json").read_text())


@pytest.fixture
def send(stack: Stack) -> Send:
    """`send("GET", "/orders", event="signed_by_user")`: a request to a cold function, with `rules` as the setting."""
    laid_out(counters=[*AS_DEPLOYED, "orders", "tickets"])

    def send(
        method: str,
        path: str,
        rules: dict[str, list[str]],
        sent: str = "signed_by_role",
        accept: str = "*/*",
        key: str = "",
        session: str = "",
    ) -> tuple[int, Any]:
        stack.monkeypatch.setenv("CALLERS", json.dumps(rules))
        forget()
        path, _, query = path.partition("?")
        request: dict[str, Any] = event(sent) | {"rawPath": path, "rawQueryString": query}
        request["requestContext"]["http"] |= {"method": method, "path": path}
        request["headers"] |= {"accept": accept} | ({"idempotency-key": key} if key else {})
        signer = request["requestContext"].get("authorizer", {}).get("iam", {})
        if session:
            signer["userArn"] = signer["userArn"].rpartition("/")[0] + f"/{session}"
        response = mint.handler.handler(request, None)
        assert isinstance(response["body"], str)
        found = response["body"]
        return response["statusCode"], json.loads(found) if found.startswith("{") else found

    return send


def test_a_caller_mints_from_its_counters_and_no_others(send: Send) -> None:
    rules = {f"{ROLE}/shop-*": ["orders"], ALICE: ["tickets"]}

    assert send("POST", "/orders", rules)[1]["integer"] == 1
    assert send("POST", "/tickets", rules, "signed_by_user")[1]["integer"] == 1
    status, problem = send("POST", "/tickets", rules)
    assert (status, problem["title"]) == (403, "Forbidden")
    assert SHOP in problem["detail"]
    assert "callers" in problem["detail"]
    assert send("POST", "/", rules)[0] == 403
    assert send("POST", "/tickets", {"*": ["*"]})[1]["integer"] == 4, "what was refused minted nothing"


@pytest.mark.parametrize(
    ("method", "path", "counters", "accept", "status", "said"),
    [
        ("GET", "/orders/1", "tickets", "*/*", 403, "may not use the counter 'orders'"),
        ("GET", "/orders?count=2", "tickets", "*/*", 403, "may not use the counter 'orders'"),
        ("GET", "/orders", "tickets", "text/html", 403, "may not use the counter"),
        ("GET", "/orders", "orders", "text/html", 200, "</html>"),
        ("PUT", "/orders", "tickets", "*/*", 403, "may not use the counter 'orders'"),
        ("PUT", "/orders", "orders", "*/*", 403, "openCounters"),  # that is asked later
        ("POST", "/nonesuch", "orders", "*/*", 403, "may not use the counter 'nonesuch'"),
        ("POST", "/nonesuch", "*", "*/*", 404, "no counter"),
        ("GET", "/-/health", "orders", "*/*", 200, "ok"),
    ],
)
def test_everything_about_a_counter_is_refused_like_a_mint(
    send: Send, method: str, path: str, counters: str, accept: str, status: int, said: str
) -> None:
    found, body = send(method, path, {f"{ROLE}/shop-web": [counters]}, accept=accept)

    assert found == status
    assert said in str(body)


def test_who_signs_nothing_learns_nothing_of_a_counter(send: Send) -> None:
    for path in ("/", "/-/status"):
        status, problem = send("GET", path, {"*": ["*"]}, "get")
        assert (status, "who signed it" in problem["detail"]) == (403, True)
    assert send("GET", "/-/health", {ALICE: ["orders"]}, "get")[0] == 200


def test_each_caller_has_keys_of_its_own(send: Send) -> None:
    rules = {"*": ["orders"]}

    assert send("POST", "/orders", rules, key="k")[1]["integer"] == 1
    assert send("POST", "/orders?count=2", rules, "signed_by_user", key="k")[1]["integers"] == [4, 7]
    assert send("POST", "/orders", rules, key="k", session="i-0def")[1]["integer"] == 1, "another session of the role"


def test_the_list_has_only_a_callers_own_counters(send: Send, stack: Stack) -> None:
    stack.monkeypatch.setenv("OPEN_COUNTERS", "1")
    stack.monkeypatch.setenv("COORDINATOR", "arn:aws:lambda:us-east-1:000000000000:function:coordinate:minting")
    rules = {f"{ROLE}/shop-web": ["tickets", "orders", "missing"]}

    assert send("GET", "/-/counters", rules) == (200, {"counters": ["orders", "tickets"]})
    assert send("GET", "/-/counters?limit=1", rules) == (200, {"counters": ["orders"], "next": "orders"})
    assert send("GET", "/-/counters?limit=1&after=orders", rules) == (200, {"counters": ["tickets"]})
    assert sorted(send("GET", "/-/counters", {"*": ["*"]})[1]["counters"]) == ["integers", "orders", "tickets"]
    assert send("GET", "/-/counters", {ALICE: ["orders"]})[0] == 403


@pytest.mark.parametrize(
    ("pattern", "caller", "matches"),
    [
        (f"{ROLE}/shop-web", SHOP, True),
        (f"{ROLE}/shop-web", f"{SESSION}/shop-web2/x", False),
        (f"{ROLE}/shop-web", f"{SESSION}/my-shop-web/x", False),
        (f"{ROLE}/shop-*", SHOP, True),
        (f"{ROLE}/*", SHOP, True),
        (f"{ROLE}/shop.web", SHOP, False),
        (f"{ROLE}/teams/shop/shop-web", SHOP, True),
        (f"{ROLE}/web", f"{SESSION}/shop/web", False),
        (f"{ROLE}/*/web", f"{SESSION}/shop/web", False),
        (f"{SESSION}/shop-web/i-*", SHOP, True),
        (f"{SESSION}/shop-web/j-*", SHOP, False),
        (f"{SESSION}/shop-web/*", f"{SESSION}/shop/web", False),
        ("arn:aws:iam::123456789013:role/shop-web", SHOP, False),
        (ALICE, ALICE, True),
        ("arn:aws:iam::123456789012:user/teams/*", ALICE, True),
        ("arn:aws:iam::123456789012:user/*", ALICE, True),
        ("arn:aws:iam::123456789012:user/alice", ALICE, False),
        ("arn:aws:iam::123456789012:user/*:b", "arn:aws:iam::123456789012:user/a:c:b", True),
        (f"{ROLE}/*", ALICE, False),
        ("arn:aws:iam::123456789012:user/*", SHOP, False),
        ("*", SHOP, True),
        ("arn:aws:iam::*:role/shop-web", SHOP, True),
        ("arn:aws:iam::*:role/shop", "arn:aws:iam::123456789012:user/x:role/shop", False),
        (f"{ROLE}/a", "arn:aws:sts::123456789012:federated-user/x:assumed-role/a/b", False),
        ("arn:aws:iam::*:federated-user/x:role/a", "arn:aws:sts::1:federated-user/x:assumed-role/a/b", False),
        ("arn:aws:iam::*:user/x:role/a", "arn:aws:iam::123456789012:user/x:assumed-role/a/b", False),
    ],
)
def test_patterns(pattern: str, caller: str, matches: bool) -> None:
    callers = Callers(json.dumps({pattern: ["orders"]}))

    if matches:
        callers.allowed(caller, "orders")
    else:
        with pytest.raises(RequestRefused, match="may use no counter"):
            callers.allowed(caller)


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"requestContext": 1},
        {"requestContext": {"authorizer": None}},
        {"requestContext": {"authorizer": {"iam": {"userArn": ""}}}},
        {"requestContext": {"authorizer": {"iam": {}}}},
    ],
)
def test_an_event_without_an_arn_names_nobody(sent: dict[str, Any]) -> None:
    assert received(sent).signer == ""


name = st.text("abcdefgh-_+=,.@", min_size=1, max_size=20)


@given(name, name, st.lists(name, max_size=3))
def test_a_role_written_with_its_path_is_the_one_of_its_sessions(role: str, session: str, path: list[str]) -> None:
    written = "/".join([ROLE, *path, role])

    assert as_role(f"{SESSION}/{role}/{session}") == as_role(written) == f"{ROLE}/{role}"
    Callers(json.dumps({written: ["orders"]})).allowed(f"{SESSION}/{role}/{session}", "orders")


def test_the_check_signs_nothing_and_mints_its_own_counter(send: Send, stack: Stack) -> None:
    laid_out(counters=["integers", "-check"])
    stack.monkeypatch.setenv("CALLERS", json.dumps({ALICE: ["tickets"]}))
    sent = event("get")
    del sent["requestContext"]["domainName"]
    statuses: dict[str, int] = {}
    for method, path in (("GET", "/-/status"), ("GET", "/-/health"), ("POST", "/-check"), ("POST", "/integers")):
        forget()
        sent["requestContext"]["http"]["method"] = method
        statuses[path] = mint.handler.handler({**sent, "rawPath": path}, None)["statusCode"]

    assert statuses == {"/-/status": 200, "/-/health": 200, "/-check": 200, "/integers": 403}
