"""What the coordinator may be asked for, and how it refuses what it may not."""

from typing import Any

import pytest
from coordinate.protocol.model import Deploy, Refused
from coordinate.request import Check, Create, Watch, request_of

from integers.lattice import MAX_REGIONS
from integers.names import RESERVED
from tests.lambda_.coordinate.made_up import NOW, desired, desired_state_document

WISH = desired_state_document("us-east-1", "eu-west-1", leaving=["us-west-2"], counters=["integers", "orders"])
DEPLOYMENT = {"wish": WISH, "follows": 3, "asked": NOW}


def refusal(event: dict[str, Any]) -> str:
    with pytest.raises(Refused) as refused:
        request_of(event)
    return str(refused.value)


def test_a_deployment_is_read() -> None:
    found = request_of(DEPLOYMENT)

    expected = desired("us-east-1", "eu-west-1", leaving=["us-west-2"], counters=["integers", "orders"])
    assert isinstance(found, Deploy)
    assert (found.desired, found.follows, found.asked) == (expected, 3, NOW)


def test_only_a_deployment_asks_for_the_counter_of_the_check() -> None:
    found = request_of({**DEPLOYMENT, "wish": {**WISH, "counters": ["integers", "-check"]}})

    assert isinstance(found, Deploy)
    assert found.desired.counters == ("integers", "-check")


@pytest.mark.parametrize("counter", sorted(RESERVED))
def test_a_deployment_may_still_name_a_counter_that_nobody_can_create_now(counter: str) -> None:
    found = request_of({**DEPLOYMENT, "wish": {**WISH, "counters": [counter]}})

    assert isinstance(found, Deploy)


def test_a_check_names_a_region_and_the_default_counter() -> None:
    event = {"check": {"region": "us-east-1", "counter": "integers", "version": "1+f", "digest": "ab12"}}

    assert request_of(event) == Check("us-east-1", "integers", "1+f")
    assert refusal({**event, "watch": True}).startswith("the event has watch and check; ")


def test_the_same_wish_has_the_same_text() -> None:
    turned = {**DEPLOYMENT, "wish": dict(reversed(WISH.items()))}

    assert request_of(turned) == request_of(DEPLOYMENT)


def test_the_schedule_and_an_operator_ask_in_one_word() -> None:
    assert request_of({"watch": True}) == Watch()
    assert request_of({"create": ["invoices", "orders", "invoices"]}) == Create(("invoices", "orders"))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"creat": ["x"]}, "creat: there is no such key; did you mean create?"),
        ({"watched": True}, "watched: there is no such key; did you mean watch?"),
        ({**DEPLOYMENT, "follow": 5}, "follow: there is no such key; did you mean follows?"),
        ({**DEPLOYMENT, "wish": {**WISH, "floor": {}}}, "wish.floor: there is no such key; did you mean floors?"),
        ({**DEPLOYMENT, "wish": {**WISH, "region": []}}, "wish.region: there is no such key; did you mean regions?"),
    ],
)
def test_a_misspelt_key_is_named_with_the_one_that_is_meant(event: dict[str, Any], message: str) -> None:
    assert refusal(event) == message


@pytest.mark.parametrize(
    ("event", "has"),
    [
        ({}, "neither wish nor watch nor create"),
        ({"anything": 1}, "neither wish nor watch nor create"),
        ({"create": ["x"], "watch": True}, "watch and create"),
        ({**DEPLOYMENT, "create": ["x"]}, "wish and create"),
    ],
)
def test_a_wrong_event_is_shown_what_to_send(event: dict[str, Any], has: str) -> None:
    message = refusal(event)

    assert message.startswith(f"the event has {has}; it must have one of them.")
    assert '{"create": ["invoices"]}' in message
    assert '{"watch": true}' in message


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"create": []}, "create: [] is not a list of names."),
        ({"create": "x"}, "create: 'x' is not a list of names."),
        ({"create": ["Bad"]}, "create: 'Bad' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."),
        ({"create": ["/lease"]}, "create: '/lease' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."),
        ({"watch": "yes"}, "watch: 'yes' is not true."),
        ({"create": ["-check"]}, "create: '-check' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."),
        (
            {"create": ["orders", "ping"]},
            "create: 'ping' can't be a new counter's name: API Gateway has another use for the path /ping.",
        ),
        ({"check": "us-east-1"}, "check: 'us-east-1' is not an object."),
        ({"check": {"counter": "a"}}, "check.region: None is not a region."),
        ({"check": {"region": "a", "regions": "b"}}, "check.regions: there is no such key; did you mean region?"),
        (
            {"check": {"region": "a", "counter": "-check"}},
            "check.counter: '-check' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}.",
        ),
        ({**DEPLOYMENT, "wish": ["us-east-1"]}, "wish: ['us-east-1'] is not an object."),
        ({**DEPLOYMENT, "follows": -1}, "follows: -1 is not an integer from 0 to 9007199254740992."),
        ({"wish": WISH, "follows": 0}, "asked: None is not an integer from 0 to 9007199254740992."),
        ({**DEPLOYMENT, "asked": "now"}, "asked: 'now' is not an integer from 0 to 9007199254740992."),
    ],
)
def test_what_is_wrong_is_named(event: dict[str, Any], message: str) -> None:
    assert refusal(event) == message


FLOOR = "is not an integer from 1 to 4503599627370496 (2^52)."


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("regions", [], "regions: [] is not a list of names."),
        ("regions", ["a", "a"], "regions: ['a', 'a'] is not a list of 1 to 64 different regions."),
        ("leaving", ["eu-west-1"], "leaving: eu-west-1 can't be in regions too."),
        ("leaving", "us-west-2", "leaving: 'us-west-2' is not a list of names."),
        ("counters", ["Bad"], "counters: 'Bad' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."),
        ("floors", [5], "floors: [5] is not an object of counters and integers."),
        *[("floors", {"orders": floor}, f"floors: orders: {floor!r} {FLOOR}") for floor in (0, -1, 1.5, "5", True)],
        ("floors", {"*": 2**53}, f"floors: *: {2**53} {FLOOR}"),
        ("window", 0, "window: 0 is not an integer from 1 to 1000000000000."),
        ("headroom", True, "headroom: True is not an integer from 1 to 1000000."),
        ("watchMinutes", 0.5, "watchMinutes: 0.5 is not an integer from 1 to 60."),
    ],
)
def test_what_is_wrong_in_a_wish_is_named(key: str, value: object, message: str) -> None:
    assert refusal({**DEPLOYMENT, "wish": {**WISH, key: value}}) == message


@pytest.mark.parametrize("key", sorted(WISH))
def test_a_wish_says_everything(key: str) -> None:
    message = refusal({**DEPLOYMENT, "wish": {name: value for name, value in WISH.items() if name != key}})

    assert message == f"wish: there is no {key}."


def test_there_are_no_more_regions_than_a_layout_can_have() -> None:
    names = [f"r{n}" for n in range(MAX_REGIONS + 1)]

    assert "is not a list of 1 to 64 different regions" in refusal({**DEPLOYMENT, "wish": {**WISH, "regions": names}})
    request_of({**DEPLOYMENT, "wish": {**WISH, "regions": names[1:]}})
