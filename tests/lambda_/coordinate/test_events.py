"""What the coordinator may be asked for, and how it refuses what it may not."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.events import Back, Check, CheckSelf, Listing, Release, admissible, request_of
from coordinate.protocol.model import Deploy, Recovery, Refused
from coordinate.protocol.run import Create, Grant, ScheduledRun

from global_integers_core.lattice import MAX_INTEGER, MAX_REGIONS
from global_integers_core.names import RESERVED
from tests.lambda_.coordinate.sample_records import NOW, desired, desired_state_document

DESIRED = desired_state_document("us-east-1", "eu-west-1", leaving=["us-west-2"], counters=["integers", "orders"])
DEPLOYMENT = {"desired": DESIRED, "follows": "8f14e45f/0", "requested": NOW}


def refusal(event: dict[str, Any]) -> str:
    with pytest.raises(Refused) as refused:
        request_of(event)
    return str(refused.value)


def test_a_deployment_is_read() -> None:
    found = request_of(DEPLOYMENT)

    expected = desired("us-east-1", "eu-west-1", leaving=["us-west-2"], counters=["integers", "orders"])
    assert isinstance(found, Deploy)
    assert (found.desired, found.follows, found.requested) == (expected, "8f14e45f/0", NOW)


@pytest.mark.parametrize("counter", ["-check", *sorted(RESERVED)])
def test_a_deployment_may_name_a_counter_that_nobody_can_create_now(counter: str) -> None:
    found = request_of({**DEPLOYMENT, "desired": {**DESIRED, "counters": ["integers", counter]}})

    assert isinstance(found, Deploy)
    assert found.desired.counters == ("integers", counter)


ASKED = {"region": "us-east-1", "counter": "integers", "version": "12", "code": "1+f", "build": "3f", "digest": "ab"}
CHECK = Check("us-east-1", "integers", "12", "1+f", "3f")


URL = "https://abc.lambda-url.us-east-1.on.aws/"


@pytest.mark.parametrize(
    ("event", "request_"),
    [
        ({"check": ASKED}, CHECK),
        ({"check": {**ASKED, "paused": True}}, replace(CHECK, paused=True)),
        ({"release": ASKED}, Release(CHECK)),
        ({"release": {**ASKED, "url": URL}}, Release(CHECK, URL)),
        ({"release": {**ASKED, "leaving": True}}, Release(CHECK, leaving=True)),
        ({"self": {"build": "3f", "digest": "ab12"}}, CheckSelf("3f")),
        ({"back": True}, Back()),
        ({"counters": True}, Listing()),
        ({"counters": True, "rate": 10, "after": "orders"}, Listing(10, "orders")),
        ({"schedule": True}, ScheduledRun()),
        ({"create": ["invoices", "orders", "invoices"]}, Create(("invoices", "orders"))),
    ],
)
def test_an_event_is_read(event: dict[str, Any], request_: object) -> None:
    assert request_of(event) == request_


def test_the_same_desired_state_has_the_same_text() -> None:
    turned = {**DEPLOYMENT, "desired": dict(reversed(DESIRED.items()))}

    assert request_of(turned) == request_of(DEPLOYMENT)


@pytest.mark.parametrize("counter", ["orders", "-check", *sorted(RESERVED)])
def test_a_region_names_the_counter_of_which_it_has_no_integers(counter: str) -> None:
    assert request_of({"grant": counter}) == Grant(counter, 1)
    assert request_of({"grant": counter, "count": 100_000, "wentBack": 7}) == Grant(counter, 100_000, 7)


EVENTS: dict[str, dict[str, Any]] = {
    "grant": {"grant": "orders"},
    "create": {"create": ["orders"]},
    "delete": {"delete": ["orders"]},
    "deployment": DEPLOYMENT,
    "schedule": {"schedule": True},
    "check": {"check": ASKED},
    "release": {"release": ASKED},
    "back": {"back": True},
    "counters": {"counters": True},
}
LATEST = ("", "$LATEST")
"""What both mean the newest code, which may not have been checked."""


@pytest.mark.parametrize("open_counters", [False, True])
@pytest.mark.parametrize("name", EVENTS)
def test_the_alias_takes_only_what_minting_functions_ask_for(name: str, open_counters: bool) -> None:
    request = request_of(EVENTS[name])
    most = 50 if open_counters else 0
    assert admissible(request, "deployments", most) is request

    if name == "grant":
        assert admissible(request, "minting", most) is request
    elif name == "create" and open_counters:
        assert admissible(request, "minting", most) == Create(("orders",), most)
    else:
        with pytest.raises(Refused, match=r"^through its alias 'minting', the coordinator takes only") as refused:
            admissible(request, "minting", most)
        assert ('{"create"' in str(refused.value)) == open_counters


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("qualifier", [*LATEST, "1", "Minting", "minting:1", "deployments:1", "live"])
def test_every_other_qualifier_is_refused(name: str, qualifier: str) -> None:
    with pytest.raises(Refused) as refused:
        admissible(request_of(EVENTS[name]), qualifier, 50)
    by = f"by the qualifier {qualifier!r}" if qualifier else "without an alias"
    assert str(refused.value).startswith(f"the coordinator doesn't take this {by}; call it by its alias 'deployments'")


@pytest.mark.parametrize("qualifier", [*LATEST, "1", "12"])
def test_a_version_does_nothing_but_check_itself(qualifier: str) -> None:
    assert admissible(CheckSelf("3f"), qualifier, 0) == CheckSelf("3f")


@pytest.mark.parametrize("alias", ["deployments", "minting", "live"])
def test_no_alias_is_asked_to_check_itself(alias: str) -> None:
    """It leads to a version that has done so."""
    with pytest.raises(Refused, match=r"^self: only a deployment sends this"):
        admissible(CheckSelf("3f"), alias, 50)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"back": True, "x": 1}, "x: there is no such key beside back, and no other. Nothing was changed."),
        ({"delete": ["a"], "after": "b"}, "after: there is no such key beside delete, and no other. "),
        ({"counters": True, "rates": 5}, "rates: there is no such key; did you mean rate?"),
        ({"counters": True, "count": 5}, "count: there is no such key beside counters, only after and rate. "),
    ],
)
def test_an_operator_sends_only_what_is_read(event: dict[str, Any], message: str) -> None:
    assert refusal(event).startswith(message)


@pytest.mark.parametrize(
    ("event", "has"),
    [
        ({}, "no schedule, create, delete, back or counters"),
        ({"anything": 1}, "no schedule, create, delete, back or counters"),
        ({"create": ["x"], "schedule": True}, "schedule and create"),
        ({"check": ASKED, "schedule": True}, "schedule and check"),
        ({"create": ["x"], "grant": "x"}, "create and grant"),
        ({**DEPLOYMENT, "create": ["x"]}, "desired and create"),
    ],
)
def test_a_wrong_event_is_shown_what_to_send(event: dict[str, Any], has: str) -> None:
    message = refusal(event)

    assert message.startswith(f"the event has {has}; it must have one.")
    assert '{"create": ["invoices"]}' in message
    assert '{"schedule": true}' in message


NO_NAME = "is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}."


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"creat": ["x"]}, "creat: there is no such key; did you mean create?"),
        ({"scheduled": True}, "scheduled: there is no such key; did you mean schedule?"),
        ({**DEPLOYMENT, "follow": 5}, "follow: there is no such key; did you mean follows?"),
        ({"create": []}, "create: [] is not a list of names."),
        ({"create": "x"}, "create: 'x' is not a list of names."),
        ({"create": ["Bad"]}, f"create: 'Bad' {NO_NAME}"),
        ({"create": ["/run-lock"]}, f"create: '/run-lock' {NO_NAME}"),
        ({"schedule": "yes"}, "schedule: 'yes' is not true."),
        ({"create": ["-check"]}, f"create: '-check' {NO_NAME}"),
        (
            {"create": ["orders", "ping"]},
            "create: 'ping' can't be a new counter's name: API Gateway has another use for the path /ping.",
        ),
        ({"grant": "orders", "count": 100_001}, "count: 100001 is not an integer from 1 to 100000."),
        ({"grant": "orders", "count": 0}, "count: 0 is not an integer from 1 to 100000."),
        ({"grant": "orders", "wentBack": -1}, f"wentBack: -1 is not an integer from 0 to {2**53}."),
        ({"grant": "orders", "wentBack": "3"}, f"wentBack: '3' is not an integer from 0 to {2**53}."),
        ({"grant": "orders", "wentBak": 3}, "wentBak: there is no such key; did you mean wentBack?"),
        ({"grant": ["orders"]}, f"grant: ['orders'] {NO_NAME}"),
        ({"grant": "/asked"}, f"grant: '/asked' {NO_NAME}"),
        ({"grants": "orders"}, "grants: there is no such key; did you mean grant?"),
        ({"check": "us-east-1"}, "check: 'us-east-1' is not an object."),
        ({"check": {"counter": "a"}}, "check.region: None is not a region."),
        ({"check": {"region": "a", "regions": "b"}}, "check.regions: there is no such key; did you mean region?"),
        ({"check": {**ASKED, "version": "$LATEST"}}, "check.version: '$LATEST' is not a version."),
        ({"check": {**ASKED, "version": 12}}, "check.version: 12 is not a version."),
        ({"check": {**ASKED, "build": ""}}, "check.build: '' is not a build."),
        ({"release": {**ASKED, "url": "file:///etc"}}, "release.url: 'file:///etc' is not a URL."),
        ({"release": "us-east-1"}, "release: 'us-east-1' is not an object."),
        ({"back": 1}, "back: 1 is not true."),
        ({"counters": ["orders"]}, "counters: ['orders'] is not true."),
        ({"counters": True, "rate": 60}, "rate: 60 is not an integer from 1 to 50."),
        ({"counters": True, "after": "A"}, f"after: 'A' {NO_NAME}"),
        ({"self": "3f"}, "self: '3f' is not an object."),
        ({"check": {**ASKED, "counter": "-check"}}, f"check.counter: '-check' {NO_NAME}"),
        ({**DEPLOYMENT, "desired": ["us-east-1"]}, "desired: ['us-east-1'] is not an object."),
        ({**DEPLOYMENT, "follows": 3}, 'follows: 3 is not the token of a deployment record, nor "".'),
        ({"desired": DESIRED, "requested": NOW}, 'follows: None is not the token of a deployment record, nor "".'),
        ({"desired": DESIRED, "follows": ""}, "requested: None is not an integer from 0 to 253370764800."),
        ({**DEPLOYMENT, "requested": 2**53}, f"requested: {2**53} is not an integer from 0 to 253370764800."),
        ({**DEPLOYMENT, "requested": "now"}, "requested: 'now' is not an integer from 0 to 253370764800."),
    ],
)
def test_what_is_wrong_is_named(event: dict[str, Any], message: str) -> None:
    assert refusal(event) == message


NO_ANSWER = "is neither {} nor the answer to a loss: its id as loss, and above what nothing was minted as above."
ABOVE = f"is not an integer from 0 to {MAX_INTEGER}."
FLOOR = "is not an integer from 1 to 4503599627370496 (2^52)."


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("regions", [], "regions: [] is not a list of names."),
        ("regions", ["a", "a"], "regions: ['a', 'a'] is not a list of 1 to 64 different regions."),
        ("leaving", ["eu-west-1"], "leaving: eu-west-1 can't be in regions too."),
        ("leaving", "us-west-2", "leaving: 'us-west-2' is not a list of names."),
        ("counters", ["Bad"], f"counters: 'Bad' {NO_NAME}"),
        ("floors", [5], "floors: [5] is not an object of counters and integers."),
        *[("floors", {"orders": floor}, f"floors: orders: {floor!r} {FLOOR}") for floor in (0, -1, 1.5, "5", True)],
        ("floors", {"*": 2**53}, f"floors: *: {2**53} {FLOOR}"),
        ("window", 0, "window: 0 is not an integer from 1 to 1000000000000."),
        ("scheduleMinutes", 0.5, "scheduleMinutes: 0.5 is not an integer from 1 to 60."),
        ("defaultCounter", "-check", f"defaultCounter: '-check' {NO_NAME}"),
        ("floor", {}, "desired.floor: there is no such key; did you mean floors?"),
        ("region", [], "desired.region: there is no such key; did you mean regions?"),
        *[
            ("recovery", answer, f"recovery: {answer!r} {NO_ANSWER}")
            for answer in ("loss-1", None, ["loss-1"], {"above": 5}, {"loss": 5}, {"loss": "loss-1", "other": 1})
        ],
        ("recovery", {"los": "loss-1"}, "recovery.los: there is no such key; did you mean loss?"),
        *[
            ("recovery", {"loss": "loss-1", "above": above}, f"recovery.above: {above!r} {ABOVE}")
            for above in (-1, 1.5, "5", True, MAX_INTEGER + 1)
        ],
        ("layoutsLabel", 5, "desired.layoutsLabel: 5 is not a label."),
        ("firstLayoutsLabel", None, "desired.firstLayoutsLabel: None is not a label."),
    ],
)
def test_what_is_wrong_in_a_desired_state_is_named(key: str, value: object, message: str) -> None:
    assert refusal({**DEPLOYMENT, "desired": {**DESIRED, key: value}}) == message


@pytest.mark.parametrize("key", sorted(DESIRED))
def test_a_desired_state_says_everything(key: str) -> None:
    message = refusal({**DEPLOYMENT, "desired": {name: value for name, value in DESIRED.items() if name != key}})

    assert message == f"desired: there is no {key}."


@pytest.mark.parametrize("recovery", [{}, {"loss": "loss-1", "above": 0}, {"loss": "loss-1", "above": MAX_INTEGER}])
def test_a_loss_is_answered_above_whatever_was_minted(recovery: dict[str, Any]) -> None:
    found = request_of({**DEPLOYMENT, "desired": {**DESIRED, "recovery": recovery}})

    assert isinstance(found, Deploy)
    assert found.desired.recovery == (Recovery(**recovery) if recovery else None)


def test_there_are_no_more_regions_than_a_layout_can_have() -> None:
    names = [f"r{n}" for n in range(MAX_REGIONS + 1)]

    assert "is not a list of 1 to 64 different regions" in refusal(
        {**DEPLOYMENT, "desired": {**DESIRED, "regions": names}}
    )
    request_of({**DEPLOYMENT, "desired": {**DESIRED, "regions": names[1:]}})
