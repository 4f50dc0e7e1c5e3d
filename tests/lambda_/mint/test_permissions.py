"""Callers use the counters that the setting `callers` gives them, and no others. Events are as AWS documents them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mint.model import RequestRefused
from mint.permissions import Callers, as_role

from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import HOME, Stack, response_in, rest_event, url_event

ROLE = "arn:aws:iam::123456789012:role"
SESSION = "arn:aws:sts::123456789012:assumed-role"
SHOP = f"{SESSION}/shop-web/i-0abc"
ALICE = "arn:aws:iam::123456789012:user/teams/alice"


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


name = st.text("abcdefgh-_+=,.@", min_size=1, max_size=20)


@given(name, name, st.lists(name, max_size=3))
def test_a_role_written_with_its_path_is_the_one_of_its_sessions(role: str, session: str, path: list[str]) -> None:
    written = "/".join([ROLE, *path, role])

    assert as_role(f"{SESSION}/{role}/{session}") == as_role(written) == f"{ROLE}/{role}"
    allowed = Callers(json.dumps({written: ["orders"]})).allowed(f"{SESSION}/{role}/{session}", "orders")
    assert allowed == (f"{ROLE}/{role}", ["orders"]), "all sessions are one caller, with the same keys"
    assert Callers(json.dumps({written: ["orders", "*"]})).allowed(written).names is None


@pytest.mark.parametrize("make", [url_event, rest_event])
def test_no_caller_can_name_itself(stack: Stack, make: Callable[..., Any]) -> None:
    """A Lambda authorizer's context, headers and parameters are others' words."""
    laid_out(counters=["integers", "orders"])
    stack.monkeypatch.setenv("CALLERS", json.dumps({"*": ["orders"]}))
    forged = make("POST", "/orders", f"userArn={SHOP}", userArn=SHOP)
    for authorizer in ({"iam": {"userArn": ""}, "userArn": SHOP}, {"userArn": SHOP}, None, 1):
        forged["requestContext"]["authorizer"] = authorizer
        assert response_in(stack, HOME, forged)["statusCode"] == 403


def test_the_check_signs_nothing_and_mints_its_own_counter(stack: Stack) -> None:
    """It invokes the function. Function URLs and API Gateway always say by which domain name a request came."""
    laid_out(counters=["integers", "-check"])
    stack.monkeypatch.setenv("CALLERS", json.dumps({ALICE: ["tickets"]}))

    def status(make: Callable[..., Any], method: str, path: str) -> int:
        sent = make(method, path)
        del sent["requestContext"]["domainName"]
        return response_in(stack, HOME, sent)["statusCode"]

    assert [status(url_event, "GET", path) for path in ("/-/status", "/-/health", "/integers")] == [200, 200, 403]
    assert [status(url_event, method, "/-check") for method in ("POST", "GET", "PUT")] == [200, 404, 404]
    assert [status(rest_event, *asked) for asked in (("POST", "/-check"), ("GET", "/-/status"))] == [404, 403]
