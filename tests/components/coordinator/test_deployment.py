"""What a deployment asks the coordinator for, under the conditions that a stack can be in."""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
from coordinate.events import request_of
from coordinate.protocol.model import Deploy

from components import GlobalIntegers, GlobalIntegersArgs
from components.coordinator.deployment import (
    ANSWERED,
    ASKS,
    NO_RECORD,
    PUT_BACK,
    StoredRecord,
    changes,
    event,
    without_home,
)
from components.settings.values import canonical
from global_integers_core.names import NAMED
from global_integers_core.records import RECORD_KEY
from tests.components.aws_answers import FUNCTION, LABEL, REST_API
from tests.components.recording import FOLLOWED, TOKEN, Aws, Deployment, recorded
from tests.components.running import HOME, PREFIX, PROJECT, config, deploy, deploy_badly

HERE = f"{HOME} {LABEL}"
OTHER = "eu-west-1"
LOSS = "loss-c9f0f895fb98ab91-7"


def sent(deployment: Deployment) -> dict[str, Any]:
    return json.loads(deployment.reconcile().inputs["input"])


def test_the_first_deployment_says_when_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.coordinator.deployment.time", SimpleNamespace(time=lambda: 1_800_000_000.9))
    sent_now = sent(deploy(config(HOME), aws=Aws()))

    assert (sent_now["follows"], sent_now["requested"]) == ("", 1_800_000_000)


def asking(**changed: Any) -> dict[str, str]:
    """Return the configuration that asks for `STOOD`, with these changes."""
    wanted: dict[str, Any] = {"regions": [HOME, OTHER], "counters": ["orders"], "floors": {"*": 7}}
    return config(**{**wanted, "defaultCounter": "orders", **changed})


def event_of(provider: Aws, **changed: Any) -> dict[str, Any]:
    return sent(deploy(asking(**changed), aws=provider))


DESIRED: dict[str, Any] = {
    "regions": [HOME, OTHER],
    "leaving": [],
    "counters": ["orders", "-check"],
    "floors": {"*": 7},
    "window": 1000,
    "scheduleMinutes": 5,
    "defaultCounter": "orders",
    "recovery": {},
    "authorization": "AWS_IAM",
    "memorySize": 256,
    "callers": {},
    "domain": "",
    "functionUrls": True,
    "openCounters": False,
    "paused": [],
}
STOOD = {**DESIRED, "tableLabels": dict.fromkeys((HOME, OTHER), LABEL), "layoutsLabel": HERE, "firstLayoutsLabel": HERE}
"""What the last deployment has asked for."""


@pytest.mark.slow
@pytest.mark.parametrize("reconciled", [True, False], ids=["carried out", "interrupted"])
def test_what_was_asked_for_is_requested_in_the_same_words(reconciled: bool) -> None:
    found = event_of(Aws(record=recorded(STOOD, reconciled=reconciled)))

    assert found == {"desired": STOOD, "follows": FOLLOWED, "requested": 1_794_000_000}


BEFORE_IT = f"{HOME} 2020-01-01T00:00:00.000"
MOVED = {**STOOD, "layoutsLabel": BEFORE_IT}


def copied(number: int) -> dict[str, Any]:
    return recorded(STOOD, token=FOLLOWED, number=number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "changed", "expected"),
    [
        ({"record": recorded(STOOD)}, {"recovery": {"loss": LOSS, "above": 7}}, TOKEN),
        ({"record": recorded(STOOD, reconciled=False)}, {"window": 2000}, TOKEN),
        ({"record": recorded(STOOD), "labels": {OTHER: "2027-01-01T00:00:00.000"}}, {}, TOKEN),  # a table was recreated
        ({"record": recorded({**STOOD, "counters": ["-check", "orders"]})}, {}, TOKEN),
        ({"copy": copied(4)}, {}, FOLLOWED),
        ({"record": recorded(MOVED), "copy": copied(5)}, {}, FOLLOWED),
        ({"record": recorded(MOVED), "copy": copied(3)}, {}, TOKEN),
        ({"record": recorded({**STOOD, "window": 2000}), "copy": copied(5)}, {}, TOKEN),
    ],
)
def test_anything_else_follows_the_last_deployment(
    state: dict[str, Any], changed: dict[str, Any], expected: str
) -> None:
    """Or the copy of its record in the mirror, where the record was lost."""
    found = event_of(Aws(**state), **changed)

    assert found["follows"] == expected
    assert found["requested"] > 1_794_000_000


@pytest.mark.slow
def test_one_item_is_read_where_the_table_exists() -> None:
    provider, preview = Aws(), Aws(preview=True)
    assert event_of(provider)["follows"] == "", "a missing record is no error"
    deploy(asking(), aws=preview)

    call, of_the_mirror = [each for each in provider.calls if RECORD_KEY in each["key"]][-2:]
    assert of_the_mirror == {**call, "tableName": f"{PREFIX}-mirror"}
    assert json.loads(call["key"]) == {"counter": {"S": "/deployment"}}
    assert (call["tableName"], call["region"]) == (f"{PREFIX}-layouts", HOME)
    assert len(preview.calls) == len(provider.calls) - 2, "nothing is known of the table before it is made"


LOCKED_OUT = (
    "authorization: NONE → AWS_IAM: requests without a signature will get 403: those of browsers, also for the page, "
    "and of clients without credentials of AWS"
)
LASTING = "at the last run, each region could mint without the home region about: orders 3,000"
BURST = ", or more after a burst since the last run"
OTHERS = "; the same for counters that aren't in the settings"
LEAVES = f"orders: epoch 3 → 4, gap about 200, or what lasts ten seconds{OTHERS}; leaving: eu-west-1"
IS_LOST = f"orders: epoch 3 → 4, gap up to 6,000{BURST}{OTHERS}; lost tables: eu-west-1"
BOTH = {"lost": ("layouts", "mirror"), "first_layouts_label": BEFORE_IT}


def issued(home: int, other: int) -> dict[str, Any]:
    """Return the state in which these are the last integers of the counter in its two regions."""
    last = {HOME: home, OTHER: other}
    items = {(region, "counters", "orders"): {"issued": {"N": str(number)}} for region, number in last.items()}
    return {"record": recorded(STOOD), "items": items}


def unsure(of_other: dict[str, Any] | str | None) -> dict[str, Any]:
    """Return the state in which one region doesn't say."""
    found = issued(501, 420)
    return {**found, "items": {**found["items"], (OTHER, "counters", "orders"): of_other}}


JUMPS = "orders: epoch 3 → 4, gap"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "changed", "expected"),
    [
        ({"record": recorded(STOOD)}, {"regions": [HOME], "leaving": [OTHER]}, [LEAVES, LASTING]),
        ({"record": recorded(STOOD), "labels": {OTHER: None}}, {}, [IS_LOST, LASTING]),
        ({"record": recorded(STOOD)}, {}, [LASTING]),
        (issued(501, 420), {"floors": {"orders": 5000}}, [f"{JUMPS} about 4,498; floors: orders 5,000", LASTING]),
        *[
            (unsure(item), {"floors": {"orders": 5000}}, [f"{JUMPS} up to 4,993; floors: orders 5,000", LASTING])
            for item in (None, "AccessDeniedException: no", {"issued": {"S": "stray"}})
        ],
        (
            issued(501, 420),
            {"floors": {"orders": 501}},
            [
                f"{JUMPS} about 200, or what lasts ten seconds; "
                "floors: orders 501 has no effect but the gap: it is at 501 already",
                LASTING,
            ],
        ),
        (
            {"record": recorded({**STOOD, "authorization": "NONE"})},
            {"memorySize": 512},
            [f"{LOCKED_OUT}; memory in MB: 256 → 512", LASTING],
        ),
        ({"record": recorded(STOOD), "preview": False}, {"window": 2000}, []),
        ({"first_layouts_label": HERE}, {}, [NO_RECORD]),
        ({"first_layouts_label": BEFORE_IT, "copy": recorded(STOOD)}, {}, [PUT_BACK]),
        ({"first_layouts_label": BEFORE_IT, "copy": recorded(STOOD), "lost": ("layouts",)}, {}, [PUT_BACK]),
        ({"first_layouts_label": BEFORE_IT}, {}, [ASKS]),
        (BOTH, {}, [ASKS]),
        (BOTH, {"recovery": {"loss": LOSS, "above": 7}}, [ANSWERED]),
        (
            {"standing": False},
            {"floors": {"*": 7, "orders": 511}},
            ["the first deployment; floors: * 7, orders 511"],
        ),
    ],
)
def test_a_preview_says_what_will_change_or_why_it_cant(
    state: dict[str, Any], changed: dict[str, Any], expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    there: dict[str, Any] = {"preview": True, "standing": True, **state}
    with caplog.at_level(logging.INFO):
        deploy(asking(**changed), aws=Aws(**there))

    assert [record.getMessage() for record in caplog.records] == expected


NEW_IS_PAUSED = (
    "paused: eu-west-1: a new region can't be paused, since its function is checked before callers reach it for the "
    "first time; deploy without this, and pause it afterwards"
)
ALONE = recorded({**STOOD, "regions": [HOME], "leaving": ["us-west-2"]})
NEW: dict[str, Any] = {"standing": False}
STANDING: dict[str, Any] = {"standing": True, "record": ALONE}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "changed", "expected"),
    [
        (NEW, {"paused": [OTHER]}, NEW_IS_PAUSED),
        (STANDING, {"paused": [OTHER], "leaving": ["us-west-2"]}, NEW_IS_PAUSED),
        (
            NEW,
            {"floors": {"ordres": 5}},
            "floors: 'ordres' is not in counters, and at a first deployment there are no others; did you mean "
            "'orders'?",
        ),
    ],
    ids=["at a first deployment", "where a region joins", "a counter that can't exist"],
)
def test_a_preview_refuses_what_is_too_early(state: dict[str, Any], changed: dict[str, Any], expected: str) -> None:
    error, _ = deploy_badly(asking(**changed), aws=Aws(preview=True, **state))

    assert str(error) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "changed"),
    [
        (STANDING, {"regions": [HOME, "us-west-2"], "paused": ["us-west-2"]}),
        (STANDING, {"regions": [HOME], "leaving": ["us-west-2"], "paused": [HOME, "us-west-2"]}),
        (STANDING, {"leaving": ["us-west-2"], "floors": {"invoices": 5}}),
        (NEW, {"floors": {"*": 5, "orders": 5}}),
        ({"standing": True, "first_layouts_label": BEFORE_IT}, {"paused": [HOME]}),
    ],
    ids=["it rejoins", "it leaves", "created by operators", "in the settings", "the record was lost"],
)
def test_a_preview_allows_what_may_be(state: dict[str, Any], changed: dict[str, Any]) -> None:
    deploy(asking(**changed), aws=Aws(preview=True, **state))


@pytest.mark.slow
def test_the_coordinator_takes_what_only_previews_read() -> None:
    asked: dict[str, Any] = {"callers": {"*": ["orders"]}, "domain": HOST, "hostedZone": "example.com"}
    request = request_of(event_of(Aws(), **asked, openCounters=True, functionUrls=False))

    assert isinstance(request, Deploy)
    assert json.loads(request.desired.text)["callers"] == {"*": ["orders"]}


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "known"), [({}, True), ({"window": 2000}, False)])
def test_a_plan_allows_the_event_of_the_deployment_that_follows(changed: dict[str, Any], *, known: bool) -> None:
    """`pulumi up --plan` refuses another value of what the preview knew. A new event has the time of `up`."""
    planned, sent = (
        deploy(asking(**changed), aws=Aws(preview=preview, standing=True, record=recorded(STOOD))).reconcile().inputs
        for preview in (True, False)
    )

    assert isinstance(planned["input"], str) == known
    assert planned["input"] == sent["input"] or not known


@pytest.mark.slow
@pytest.mark.parametrize("preview", [True, False])
def test_a_protected_region_is_not_dropped(preview: bool) -> None:
    stood = {**STOOD, "regions": [HOME, OTHER, "us-west-2"], "leaving": ["eu-north-1"]}
    aws = Aws(preview=preview, standing=True, record=recorded(stood))
    error, deployment = deploy_badly(config(HOME, OTHER, leaving=["eu-north-1"]), aws=aws)

    text = str(error)
    assert text.startswith("regions: us-west-2: tables are protected here, so a region can't be removed before it has")
    assert '  leaving: ["eu-north-1", "us-west-2"]\n' in text, "the lines to type"
    assert '  regions: ["us-east-1", "eu-west-1"]\n' in text
    assert text.endswith("Then remove us-west-2 from leaving and deploy again.")
    assert deployment.reconciling() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ({"regions": [HOME], "leaving": [OTHER]}, {"regions": [HOME]}),
        ({}, {"regions": [HOME], "leaving": [OTHER]}),
        ({}, {"regions": [HOME], "protect": False}),
    ],
    ids=["it has left", "it leaves", "unprotected"],
)
def test_a_region_may_go(before: dict[str, Any], changed: dict[str, Any]) -> None:
    deploy(asking(**changed), aws=Aws(record=recorded({**STOOD, **before})))


def test_the_state_keeps_the_first_home() -> None:
    desired = sent(deploy(config(HOME), aws=Aws(first_layouts_label=f"{HOME} 2025-01-01T00:00:00.000")))["desired"]

    assert (desired["firstLayoutsLabel"], desired["layoutsLabel"]) == (f"{HOME} 2025-01-01T00:00:00.000", HERE)


@pytest.mark.slow
def test_the_default_counter_is_that_of_the_settings_everywhere() -> None:
    """Of functions, APIs, checks and the desired state, whatever the counters' order and the record are."""
    named = config(HOME, OTHER, apiGateway=True, counters=["integers", "orders"], defaultCounter="orders")
    deployment = deploy(named, aws=Aws(record=recorded(STOOD)))
    environments = [made.inputs["environment"]["variables"] for made in deployment.of(FUNCTION)]
    events = [json.loads(made.inputs["input"]) for made in (*deployment.checks(), *deployment.releases())]

    found = {variables["DEFAULT_COUNTER"] for variables in environments if "DEFAULT_COUNTER" in variables}
    found |= {event["counter"] for about in events for event in about.values()}
    assert {*found, sent(deployment)["desired"]["defaultCounter"], deployment.outputs["defaultCounter"]} == {"orders"}
    for api in deployment.of(REST_API):
        root = json.dumps(json.loads(api.inputs["body"])["paths"]["/"])
        assert ("'orders'" in root, "'integers'" in root) == (True, False)


DYNAMODB = "operation error DynamoDB: GetItem, https response error, "
OLD = recorded({key: value for key, value in STOOD.items() if key != "recovery"})
BROKEN = {**recorded(STOOD), "report": {"S": "{"}}
OF_BEFORE = "can't be read: an attribute is missing or wrong. If a version before 1.0.0 wrote it, deploy a new stack"
RENAMED = (
    "this stack is deployed as 'global-integers-before' and can't be renamed to 'global-integers-test{}', because that "
    "would replace its tables; give the project and the stack their old names again (`pulumi stack rename`)"
)


@pytest.mark.slow
@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {"record": f"{DYNAMODB}AccessDeniedException: no"},
            "the record of the last deployment can't be read: invoke of aws:dynamodb/getTableItem:getTableItem failed: "
            f"reading DynamoDB Table Item ({PREFIX}-layouts|/deployment): {DYNAMODB}AccessDeniedException: no",
        ),
        ({"record": "couldn't find resource"}, "a table is gone: run `pulumi up --refresh`"),
        ({"record": OLD}, f"the deployment record in {PREFIX}-layouts {OF_BEFORE}"),
        ({"copy": OLD}, f"the deployment record in {PREFIX}-mirror {OF_BEFORE}"),
        ({"copy": BROKEN}, f"the deployment record in {PREFIX}-mirror {OF_BEFORE}"),
        ({"named": f"{PROJECT}-before"}, f"<project>-<stack>: {RENAMED.format('')}"),
    ],
)
def test_what_would_go_wrong_is_refused(state: dict[str, Any], message: str, preview: bool) -> None:
    error, deployment = deploy_badly(config(HOME, OTHER), aws=Aws(preview=preview, standing=True, **state))

    assert isinstance(error, pulumi.RunError)
    assert str(error).startswith(message)
    assert "prefix" not in str(error), "a stack has no such setting"
    assert deployment.reconciling() == []
    assert deployment.of(FUNCTION) == [], "no function changes, nor looks for tables of the new name"


def test_another_component_is_told_of_its_prefix() -> None:
    def program() -> None:
        GlobalIntegers("integers", GlobalIntegersArgs(HOME, [HOME]))

    error, deployment = deploy_badly({}, program=program, aws=Aws(named=f"{PROJECT}-before"))

    assert str(error) == f"prefix: {RENAMED.format('-integers')}, or set the argument prefix='{PROJECT}-before'"
    assert deployment.of(FUNCTION) == []


def test_nothing_is_replaced_before_another_name_is_refused() -> None:
    """Without a preview, an update begins before. What was made under another name could not be put back."""
    deployment = deploy(config(HOME, OTHER, alarmEmails=["a@example.com"], budget=100, protect=False))
    names = {
        (resource.name, key): key in resource.ignore_changes
        for resource in deployment.resources
        for key, value in resource.inputs.items()
        if key in ("name", "alarmName", "dashboardName") and PREFIX in value
    }

    assert len(names) > 30
    assert [name for name, unchanged in names.items() if not unchanged] == []


# The words of a preview.

LABELS = {"us-east-1": "a", "eu-west-1": "b", "us-west-2": "c"}
BEFORE: dict[str, Any] = {
    **DESIRED,
    "regions": [*LABELS],
    "counters": ["integers"],
    "floors": {},
    "tableLabels": LABELS,
    "defaultCounter": "integers",
}
COUNTERS = {"integers": {"epoch": 3, "base": 10_001}}
RECORDED = StoredRecord(
    token=TOKEN,
    number=4,
    follows=FOLLOWED,
    requested=0,
    desired={**BEFORE, "layoutsLabel": "h", "firstLayoutsLabel": "h"},
    reconciled=True,
    counters=COUNTERS,
    term=1,
    windows={"integers": 5_000},
)

STARTED = replace(RECORDED, reconciled=False)
LEFT = replace(RECORDED, desired={**BEFORE, "leaving": ["us-west-1"]})
BY_HAND = replace(RECORDED, counters={name: {"epoch": 1, "base": 1} for name in ("integers", "invoices")})
ANSWERS = replace(RECORDED, desired={**BEFORE, "recovery": {"loss": LOSS, "above": 7}})
NEW_KEYS = ("authorization", "memorySize", "callers", "domain", "functionUrls", "openCounters", "paused")
OLDER = replace(RECORDED, desired={key: value for key, value in BEFORE.items() if key not in NEW_KEYS})
"""Of a version that didn't record these."""
HOST = "integers.example.com"
CALLERS = {"shop": ["integers", "integer"], "all": ["*"]}
FULL = replace(
    RECORDED,
    desired={
        **BEFORE,
        "callers": CALLERS,
        "domain": HOST,
        "functionUrls": False,
        "openCounters": True,
        "paused": [HOME],
    },
)
MISSPELT = "callers: there is no integer, unless it was created without a deployment; did you mean 'integers'?"
ANYONE = "those of other accounts will get 403, and whoever IAM allows in this account will be able to use all counters"
FORBIDDEN = "callers that will get 403, unless another entry allows it"
FAIL = f"requests to {HOST} and to names below it will fail"
UNFINISHED = "deployment 4 is not finished, and is"


def words(record: StoredRecord, issued: Mapping[str, int | None] | None = None, **asked: Any) -> str:
    same = FULL.desired if record is FULL else BEFORE
    return changes({**same, **asked}, record, issued or {})


EPOCH = f"integers: epoch 3 → 4, gap about 300, or what lasts ten seconds{OTHERS}"
LOST = f"integers: epoch 3 → 4, gap up to 15,000{BURST}{OTHERS}; lost tables: eu-west-1"
BY_FLOOR = EPOCH.removesuffix(OTHERS)
TURNED = "us-east-1, eu-west-1, us-west-2 → eu-west-1, us-east-1, us-west-2"
BEFORE_EPOCH = f"order of regions: us-east-1, eu-west-1 → eu-west-1, us-east-1; {EPOCH}"
AT_ONCE = "deleted at once, with their URLs (list them in leaving instead):"
DROPPED, REPLACED = f"{AT_ONCE} us-west-2", f"{AT_ONCE} eu-west-1"
ORDERS = {"counters": ["integers", "orders"], "defaultCounter": "orders"}
AT_THE_ROOT = "/ will mint from orders instead of integers: its callers may get integers that they got before; "
FLOORS = {"floors": {"integers": 500}}


@pytest.mark.parametrize(
    ("record", "asked", "expected"),
    [
        (RECORDED, {}, ""),
        (RECORDED, {"regions": [HOME, OTHER], "leaving": ["us-west-2"]}, f"{EPOCH}; leaving: us-west-2"),
        (RECORDED, {"regions": [*LABELS, "eu-north-1"]}, f"{EPOCH}; joining: eu-north-1"),
        (RECORDED, {"regions": [OTHER, HOME, "us-west-2"]}, f"order of regions: {TURNED}; {EPOCH}"),
        (RECORDED, {"regions": ["eu-north-1", OTHER, HOME]}, f"{BEFORE_EPOCH}; joining: eu-north-1; {DROPPED}"),
        (RECORDED, {"regions": [HOME, "eu-north-1", "us-west-2"]}, f"{EPOCH}; joining: eu-north-1; {REPLACED}"),
        (RECORDED, {"tableLabels": {**LABELS, OTHER: ""}}, LOST),
        (RECORDED, {"counters": ["orders", "integers"]}, "new counters: orders"),
        (RECORDED, {"counters": ["a"]}, "new counters: a; no longer in the settings, but still minting: integers"),
        (RECORDED, {"counters": ["integers", "-check"]}, ""),
        (RECORDED, ORDERS, f"{AT_THE_ROOT}new counters: orders"),
        (RECORDED, {"floors": {"*": 7, "integers": 10_002}}, f"{BY_FLOOR}; floors: * 7, integers 10,002"),
        (RECORDED, {"floors": {"*": 50_001}}, "integers: epoch 3 → 4, gap up to 40,000; floors: * 50,001"),
        (
            RECORDED,
            {"tableLabels": {**LABELS, OTHER: ""}, "floors": {"integers": 50_001}},
            f"{LOST.replace(f'15,000{BURST}', '40,000')}; floors: integers 50,001",
        ),
        (RECORDED, {"floors": {"integers": 9}}, "floors: integers 9 has no effect: it is at 10,001 already"),
        (
            RECORDED,
            {"floors": {"integer": 9}},
            "floors: integer 9 is refused, unless integer was created without a deployment; did you mean 'integers'?",
        ),
        (replace(RECORDED, desired={**BEFORE, **FLOORS}), FLOORS, ""),
        (RECORDED, {"recovery": {"loss": LOSS, "above": 7}}, f"recovery: {LOSS}"),
        (ANSWERS, {"recovery": {"loss": LOSS, "above": 8}}, f"recovery: {LOSS}"),
        (ANSWERS, {"recovery": {"loss": LOSS, "above": 7}}, ""),
        (ANSWERS, {}, ""),
        (RECORDED, {"window": 50_000, "scheduleMinutes": 1}, "window: 1,000 → 50,000; schedule minutes: 5 → 1"),
        (RECORDED, {"memorySize": 1024}, "memory in MB: 256 → 1,024"),
        (RECORDED, {"authorization": "NONE"}, "authorization: AWS_IAM → NONE: everyone will be able to mint"),
        (OLDER, {"authorization": "NONE", "memorySize": 1024}, ""),
        (
            OLDER,
            {"callers": CALLERS, "domain": HOST, "functionUrls": False, "openCounters": True, "paused": [HOME]},
            "",
        ),
        (RECORDED, {"callers": CALLERS}, f"callers: none → some: all others will get 403; {MISSPELT}"),
        (FULL, {"callers": {}}, f"callers: some → none: {ANYONE}"),
        (FULL, {"callers": {"shop": ["integers"], "all": ["*"]}}, f"{FORBIDDEN}: shop (integer)"),
        (FULL, {"callers": {"shop": ["*"], "all": ["integers"]}}, f"{FORBIDDEN}: all (all others)"),
        (FULL, {"callers": {"shop": CALLERS["shop"]}}, f"{FORBIDDEN}: all (*)"),
        (FULL, {"callers": {**CALLERS, "new": ["integers"]}}, ""),
        (RECORDED, {"domain": HOST}, f"domain: none → {HOST}: all regions get this name too"),
        (FULL, {"domain": "b.example.com"}, f"domain: {HOST} → b.example.com: {FAIL}"),
        (FULL, {"domain": ""}, f"domain: {HOST} → none: {FAIL}"),
        (
            RECORDED,
            {"functionUrls": False},
            "functionUrls: true → false: all Function URLs will be deleted, and later ones will be others",
        ),
        (FULL, {"functionUrls": True}, "functionUrls: false → true: every region will get a new one"),
        (
            RECORDED,
            {"openCounters": True},
            "openCounters: false → true: every caller will be able to create and list counters",
        ),
        (FULL, {"openCounters": False}, "openCounters: true → false: callers won't be able to create or list counters"),
        (RECORDED, {"paused": [HOME]}, "paused, so that they mint nothing: us-east-1"),
        (FULL, {"paused": ["us-west-2"]}, "paused, so that they mint nothing: us-west-2; paused no longer: us-east-1"),
        (LEFT, {}, "deleted: us-west-1"),
        (LEFT, {"regions": [*LABELS, "us-west-1"]}, f"{EPOCH}; joining: us-west-1"),
        (STARTED, {}, f"{UNFINISHED} continued"),
        (STARTED, {"window": 1}, f"{UNFINISHED} replaced by this one; window: 1,000 → 1"),
        (BY_HAND, {"counters": ["integers", "invoices"]}, ""),
    ],
)
def test_a_change_is_said_in_one_line(record: StoredRecord, asked: dict[str, Any], expected: str) -> None:
    assert words(record, **asked) == expected


def test_only_some_of_many_counters_are_named() -> None:
    counters = {f"c{number:02}": {"epoch": 1, "base": 1} for number in range(NAMED + 5)}
    many = replace(RECORDED, counters=counters, windows={"c01": 2345})

    text = words(many, regions=["us-east-1"])
    assert text.count("epoch 1 → 2") == NAMED
    assert "; 5 more counters likewise; " in text
    assert re.search(r"about: c00 1,000, c01 2,345, .* c09 1,000, all others the same or more$", without_home(many))


def test_equal_desired_states_are_the_same_text() -> None:
    asked = RECORDED.desired

    assert event(dict(sorted(asked.items(), reverse=True)), RECORDED, None, 1) == event(asked, RECORDED, None, 2)
    assert canonical({"b": 1, "a": {"d": 1, "c": 2}}) == '{"a":{"c":2,"d":1},"b":1}'
