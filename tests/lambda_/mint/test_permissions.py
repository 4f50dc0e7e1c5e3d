"""Callers use the counters that the setting `callers` gives them, and no others. Events are as AWS documents them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mint.model import RequestRefused
from mint.permissions import Callers, as_role

from tests.lambda_.coordinator_calls import deploy
from tests.lambda_.fixtures import HOME, Stack, response_in, rest_event, url_event

ROLE = "arn:aws:iam::123456789012:role"
SESSION = "arn:aws:sts::123456789012:assumed-role"
SHOP = f"{SESSION}/shop-web/i-0abc"
ALICE = "arn:aws:iam::123456789012:user/teams/alice"


USER = "arn:aws:iam::123456789012:user"
MATCHING = {
    SHOP: ["*", f"{ROLE}/shop-web", f"{ROLE}/shop-*", f"{ROLE}/teams/shop/shop-web", "arn:aws:iam::*:role/shop-web"],
    f"{SESSION}/shop-web/i-1": [f"{ROLE}/*", f"{SESSION}/shop-web/i-*"],
    ALICE: [ALICE, f"{USER}/teams/*", f"{USER}/*"],
    f"{USER}/a:c:b": [f"{USER}/*:b"],
}
OTHERS = {
    SHOP: [f"{ROLE}/shop.web", f"{SESSION}/shop-web/j-*", "arn:aws:iam::123456789013:role/shop-web", f"{USER}/*"],
    ALICE: [f"{USER}/alice", f"{ROLE}/*"],
    f"{SESSION}/shop-web2/x": [f"{ROLE}/shop-web"],
    f"{SESSION}/my-shop-web/x": [f"{ROLE}/shop-web"],
    f"{SESSION}/shop/web": [f"{ROLE}/web", f"{ROLE}/*/web", f"{SESSION}/shop-web/*"],
    f"{USER}/x:role/shop": ["arn:aws:iam::*:role/shop"],
    f"{USER}/x:assumed-role/a/b": ["arn:aws:iam::*:user/x:role/a"],
    "arn:aws:sts::123456789012:federated-user/x:assumed-role/a/b": [f"{ROLE}/a"],
    "arn:aws:sts::1:federated-user/x:assumed-role/a/b": ["arn:aws:iam::*:federated-user/x:role/a"],
}


@pytest.mark.parametrize(("caller", "pattern"), [(caller, each) for caller in MATCHING for each in MATCHING[caller]])
def test_a_pattern_allows_its_callers(caller: str, pattern: str) -> None:
    assert Callers(json.dumps({pattern: ["orders"]})).allowed(caller, "orders").names == ["orders"]


@pytest.mark.parametrize(("caller", "pattern"), [(caller, each) for caller in OTHERS for each in OTHERS[caller]])
def test_a_pattern_refuses_all_others(caller: str, pattern: str) -> None:
    with pytest.raises(RequestRefused, match="may use no counter"):
        Callers(json.dumps({pattern: ["orders"]})).allowed(caller)


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
    deploy(counters=["integers", "orders"])
    stack.monkeypatch.setenv("CALLERS", json.dumps({"*": ["orders"]}))
    forged = make("POST", "/orders", f"userArn={SHOP}", userArn=SHOP)
    for authorizer in ({"iam": {"userArn": ""}, "userArn": SHOP}, {"userArn": SHOP}, None, 1):
        forged["requestContext"]["authorizer"] = authorizer
        assert response_in(stack, HOME, forged)["statusCode"] == 403


def test_the_check_signs_nothing_and_mints_its_own_counter(stack: Stack) -> None:
    """It invokes the function. Function URLs and API Gateway always say by which domain name a request came."""
    deploy(counters=["integers", "-check"])
    stack.monkeypatch.setenv("CALLERS", json.dumps({ALICE: ["tickets"]}))

    def status(make: Callable[..., Any], method: str, path: str) -> int:
        sent = make(method, path)
        del sent["requestContext"]["domainName"]
        return response_in(stack, HOME, sent)["statusCode"]

    assert [status(url_event, "GET", path) for path in ("/-/status", "/-/health", "/integers")] == [200, 200, 403]
    assert [status(url_event, method, "/-check") for method in ("POST", "GET", "PUT")] == [200, 404, 404]
    assert [status(rest_event, *asked) for asked in (("POST", "/-check"), ("GET", "/-/status"))] == [404, 403]
