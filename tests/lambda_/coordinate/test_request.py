"""What the coordinator may be asked for, and how it refuses what it may not."""

from typing import Any

import pytest
from coordinate.model import Refused
from coordinate.request import Request, request_of

DEPLOYMENT = {"regions": ["us-east-1", "eu-west-1"], "counters": ["integers", "orders", "integers"]}


def test_a_deployment_asks_for_regions_counters_and_floors() -> None:
    event = {**DEPLOYMENT, "floors": {"orders": 5}, "tables": {"us-east-1": "x"}, "tf": {"action": "create"}}

    assert request_of(event) == Request(("integers", "orders"), ("us-east-1", "eu-west-1"), {"orders": 5})


def test_an_operator_asks_for_counters_only() -> None:
    assert request_of({"create": ["invoices"]}) == Request(("invoices",))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"creat": ["x"]}, "creat: there is no such key; did you mean create?"),
        ({"creates": ["x"]}, "creates: there is no such key; did you mean create?"),
        ({**DEPLOYMENT, "floor": {"orders": 5}}, "floor: there is no such key; did you mean floors?"),
        ({"region": ["us-east-1"], "counters": ["x"]}, "region: there is no such key; did you mean regions?"),
        ({"regions": ["us-east-1"], "counter": ["x"]}, "counter: there is no such key; did you mean counters?"),
    ],
)
def test_a_misspelt_key_is_named_with_the_one_that_is_meant(event: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        request_of(event)
    assert str(refused.value) == message


@pytest.mark.parametrize("event", [{}, {"counters": ["x"]}, {"anything": 1}])
def test_the_refusal_of_an_event_that_asks_for_nothing_shows_both_forms(event: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r'send \{"create": \["invoices"\]\}.* sends \{"regions"'):
        request_of(event)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            {"create": ["x"], "floors": {"x": 77}},
            "create: only a deployment can send floors.",
        ),
        (
            {"create": ["x"], "regions": ["a"]},
            "create: only a deployment can send regions.",
        ),
        ({"create": []}, "create: [] is not a list of names."),
        ({"create": "x"}, "create: 'x' is not a list of names."),
        ({"create": ["Bad"]}, "create: 'Bad' is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."),
        ({"regions": ["a", "a"]}, "regions: ['a', 'a'] is not a list of 1 to 64 different regions."),
        ({"regions": ["a"]}, "counters: None is not a list of names."),
        ({**DEPLOYMENT, "floors": [5]}, "floors: [5] is not an object of counters and integers."),
        (
            {**DEPLOYMENT, "floors": {"orders": 0}},
            "floors: orders: 0 is not an integer from 1 to 4503599627370496 (2^52).",
        ),
    ],
)
def test_what_is_wrong_is_named(event: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        request_of(event)
    assert str(refused.value) == message
