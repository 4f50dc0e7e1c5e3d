"""What the coordinator may be asked for, and how it refuses what it may not."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.events import Back, Check, CheckSelf, Listing, Release, admissible, request_of
from coordinate.protocol.model import Deploy, DesiredState, Recovery, Refused
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


def deployed(**changes: Any) -> DesiredState:
    """Return the desired state that is read of a deployment's event with these changes."""
    found = request_of({**DEPLOYMENT, "desired": {**DESIRED, **changes}})
    assert isinstance(found, Deploy)
    return found.desired


def test_a_deployment_is_read() -> None:
    expected = desired("us-east-1", "eu-west-1", leaving=["us-west-2"], counters=["integers", "orders"])
    turned = {**DEPLOYMENT, "desired": dict(reversed(DESIRED.items()))}

    assert request_of(DEPLOYMENT) == request_of(turned) == Deploy(expected, "8f14e45f/0", NOW)
    for above in (0, MAX_INTEGER):
        assert deployed(recovery={"loss": "loss-1", "above": above}).recovery == Recovery("loss-1", above)
    assert len(deployed(regions=[f"r{n}" for n in range(MAX_REGIONS)]).regions) == MAX_REGIONS


@pytest.mark.parametrize("counter", ["-check", *sorted(RESERVED)])
def test_a_counter_that_nobody_can_create_now_may_be_there(counter: str) -> None:
    assert deployed(counters=["integers", counter]).counters == ("integers", counter)
    assert request_of({"grant": counter, "count": 100_000, "wentBack": 7}) == Grant(counter, 100_000, 7)


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
        ({"grant": "orders"}, Grant("orders", 1)),
        ({"create": ["invoices", "orders", "invoices"]}, Create(("invoices", "orders"))),
    ],
)
def test_an_event_is_read(event: dict[str, Any], request_: object) -> None:
    assert request_of(event) == request_


EVENTS = [
    {"grant": "orders"},
    {"create": ["orders"]},
    {"delete": ["orders"]},
    *({name: True} for name in ("schedule", "back", "counters")),
    *({name: ASKED} for name in ("check", "release")),
    DEPLOYMENT,
]
LATEST = ("", "$LATEST")
"""What both mean the newest code, which may not have been checked."""


@pytest.mark.parametrize("open_counters", [False, True])
@pytest.mark.parametrize("event", EVENTS)
def test_the_alias_takes_only_what_minting_functions_ask_for(event: dict[str, Any], open_counters: bool) -> None:
    request = request_of(event)
    most = 50 if open_counters else 0
    assert admissible(request, "deployments", most) is request

    if "grant" in event:
        assert admissible(request, "minting", most) is request
    elif "create" in event and open_counters:
        assert admissible(request, "minting", most) == Create(("orders",), most)
    else:
        with pytest.raises(Refused, match=r"^through its alias 'minting', the coordinator takes only") as refused:
            admissible(request, "minting", most)
        assert ('{"create"' in str(refused.value)) == open_counters


@pytest.mark.parametrize("event", EVENTS)
def test_every_other_qualifier_is_refused(event: dict[str, Any]) -> None:
    for qualifier in (*LATEST, "1", "Minting", "minting:1", "deployments:1", "live"):
        by = f"by the qualifier {qualifier!r}" if qualifier else "without an alias"
        expected = f"^the coordinator doesn't take this {by}; call it by its alias 'deployments'"
        with pytest.raises(Refused, match=expected.replace("$", r"\$")):
            admissible(request_of(event), qualifier, 50)


def test_a_version_does_nothing_but_check_itself() -> None:
    for qualifier in (*LATEST, "1", "12", "deployments"):  # by that, it asks whether it is reached
        assert admissible(CheckSelf("3f"), qualifier, 0) == CheckSelf("3f")
    for alias in ("minting", "live"):
        with pytest.raises(Refused, match=r"^self: only a deployment sends this"):
            admissible(CheckSelf("3f"), alias, 50)


@pytest.mark.parametrize(
    ("event", "has"),
    [
        ({"anything": 1}, "no schedule, create, delete, back or counters"),
        ({"check": ASKED, "schedule": True}, "schedule and check"),
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
        ({"back": True, "x": 1}, "x: there is no such key beside back, and no other. Nothing was changed."),
        ({"counters": True, "rates": 5}, "rates: there is no such key; did you mean rate?"),
        (
            {"counters": True, "count": 5},
            "count: there is no such key beside counters, only after and rate. Nothing was changed.",
        ),
        ({"creat": ["x"]}, "creat: there is no such key; did you mean create?"),
        ({"create": []}, "create: [] is not a list of names."),
        ({"create": "x"}, "create: 'x' is not a list of names."),
        ({"create": ["Bad"]}, f"create: 'Bad' {NO_NAME}"),
        ({"schedule": "yes"}, "schedule: 'yes' is not true."),
        ({"create": ["-check"]}, f"create: '-check' {NO_NAME}"),
        (
            {"create": ["orders", "ping"]},
            "create: 'ping' can't be a new counter's name: API Gateway has another use for the path /ping.",
        ),
        ({"grant": "orders", "count": 100_001}, "count: 100001 is not an integer from 1 to 100000."),
        ({"grant": "orders", "count": 0}, "count: 0 is not an integer from 1 to 100000."),
        ({"grant": "orders", "wentBack": -1}, f"wentBack: -1 is not an integer from 0 to {2**53}."),
        ({"grant": ["orders"]}, f"grant: ['orders'] {NO_NAME}"),
        ({"check": "us-east-1"}, "check: 'us-east-1' is not an object."),
        ({"check": {"counter": "a"}}, "check.region: None is not a region."),
        ({"check": {"region": "a", "regions": "b"}}, "check.regions: there is no such key; did you mean region?"),
        ({"check": {**ASKED, "version": "$LATEST"}}, "check.version: '$LATEST' is not a version."),
        ({"check": {**ASKED, "build": ""}}, "check.build: '' is not a build."),
        ({"release": {**ASKED, "url": "file:///etc"}}, "release.url: 'file:///etc' is not a URL."),
        ({"counters": True, "rate": 60}, "rate: 60 is not an integer from 1 to 50."),
        ({"counters": True, "after": "A"}, f"after: 'A' {NO_NAME}"),
        ({"check": {**ASKED, "counter": "-check"}}, f"check.counter: '-check' {NO_NAME}"),
        ({**DEPLOYMENT, "desired": ["us-east-1"]}, "desired: ['us-east-1'] is not an object."),
        ({**DEPLOYMENT, "follows": 3}, 'follows: 3 is not the token of a deployment record, nor "".'),
        ({**DEPLOYMENT, "requested": 2**53}, f"requested: {2**53} is not an integer from 0 to 253370764800."),
    ],
)
def test_what_is_wrong_is_named(event: dict[str, Any], message: str) -> None:
    assert refusal(event) == message


NO_ANSWER = "is neither {} nor the answer to a loss: its id as loss, and above what nothing was minted as above."
ABOVE = f"is not an integer from 0 to {MAX_INTEGER}."
TOO_MANY = [f"r{n}" for n in range(MAX_REGIONS + 1)]
FLOOR = "is not an integer from 1 to 4503599627370496 (2^52)."


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("regions", [], "regions: [] is not a list of names."),
        ("regions", ["a", "a"], "regions: ['a', 'a'] is not a list of 1 to 64 different regions."),
        ("regions", TOO_MANY, f"regions: {TOO_MANY} is not a list of 1 to 64 different regions."),
        ("leaving", ["eu-west-1"], "leaving: eu-west-1 can't be in regions too."),
        ("counters", ["Bad"], f"counters: 'Bad' {NO_NAME}"),
        ("floors", [5], "floors: [5] is not an object of counters and integers."),
        *[("floors", {"orders": floor}, f"floors: orders: {floor!r} {FLOOR}") for floor in (0, 1.5, "5", True)],
        ("floors", {"*": 2**53}, f"floors: *: {2**53} {FLOOR}"),
        ("window", 0, "window: 0 is not an integer from 1 to 1000000000000."),
        ("scheduleMinutes", 0.5, "scheduleMinutes: 0.5 is not an integer from 1 to 60."),
        ("memorySize", "256", "memorySize: '256' is not an integer from 1 to 10240."),
        ("defaultCounter", "-check", f"defaultCounter: '-check' {NO_NAME}"),
        ("floor", {}, "desired.floor: there is no such key; did you mean floors?"),
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
