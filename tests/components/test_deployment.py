"""What a deployment asks the coordinator for, under the conditions that a stack can be in."""

import json
import logging
import time
from typing import Any

import pulumi
import pytest

from components.deployment import first_home
from components.settings import SettingsError
from tests.components.aws_answers import LABEL
from tests.components.recording import Aws, Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly

HERE = f"{HOME} {LABEL}"
SETTINGS = config(*THREE, counters=["orders", "invoices", "a"], floors={"orders": 5_000_000, "*": 7})


def sent(deployment: Deployment) -> dict[str, Any]:
    return json.loads(deployment.settle().inputs["input"])


def recorded(wish: dict[str, Any], *, settled: bool = True) -> dict[str, Any]:
    """The record of the coordinator, as it writes it."""
    return {
        "counter": {"S": "/deployment"},
        "home": {"S": "id"},
        "number": {"N": "4"},
        "follows": {"N": "2"},
        "asked": {"N": "1794000000"},
        "wish": {"S": json.dumps(wish, sort_keys=True, separators=(",", ":"))},
        "settled": {"BOOL": settled},
        "report": {"S": json.dumps({"counters": {"orders": {"epoch": 3, "base": 1}}, "pending": []})},
    }


@pytest.fixture(scope="module")
def wish() -> dict[str, Any]:
    return sent(deploy(SETTINGS))["wish"]


def test_the_wish_has_all_that_the_coordinator_needs(wish: dict[str, Any]) -> None:
    assert wish == {
        "regions": list(THREE),
        "leaving": [],
        "counters": ["orders", "invoices", "a", "-check"],
        "floors": {"orders": 5_000_000, "*": 7},
        "window": 100_000_000,
        "headroom": 10_000,
        "watchMinutes": 5,
        "tables": dict.fromkeys(THREE, LABEL),
        "home": HERE,
        "first": HERE,
    }


def test_the_event_is_canonical_json(signed: Deployment) -> None:
    text = signed.settle().inputs["input"]

    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_the_first_deployment_follows_none_and_says_when_it_was_asked_for() -> None:
    before = int(time.time())
    event = sent(deploy(SETTINGS))

    assert event["follows"] == 0
    assert before <= event["asked"] <= time.time()


def test_what_stands_is_asked_for_in_the_same_words(wish: dict[str, Any]) -> None:
    for _ in range(2):
        assert sent(deploy(SETTINGS, aws=Aws(record=recorded(wish)))) == {
            "wish": wish,
            "follows": 2,
            "asked": 1_794_000_000,
        }


@pytest.mark.parametrize("settled", [True, False])
def test_a_change_follows_the_last_deployment(wish: dict[str, Any], settled: bool) -> None:
    event = sent(deploy(config(*THREE), aws=Aws(record=recorded(wish, settled=settled))))

    assert event["follows"] == 4
    assert event["asked"] > 1_794_000_000


def test_what_was_not_carried_out_is_asked_for_again(wish: dict[str, Any]) -> None:
    assert sent(deploy(SETTINGS, aws=Aws(record=recorded(wish, settled=False))))["follows"] == 4


def test_a_recreated_table_is_asked_for(wish: dict[str, Any]) -> None:
    aws = Aws(record=recorded(wish), labels={"eu-west-1": "2027-01-01T00:00:00.000"})
    event = sent(deploy(SETTINGS, aws=aws))

    assert event["follows"] == 4
    assert event["wish"]["tables"]["eu-west-1"] == "2027-01-01T00:00:00.000"


def test_one_item_is_read_at_home() -> None:
    aws = Aws()
    deploy(config("eu-west-1", home="us-west-2"), aws=aws)

    (call,) = aws.calls
    assert json.loads(call["key"]) == {"counter": {"S": "/deployment"}}
    assert (call["tableName"], call["region"]) == (f"{PREFIX}-layouts", "us-west-2")


def test_nothing_is_read_before_the_table_exists() -> None:
    aws = Aws(preview=True)
    deploy(SETTINGS, aws=aws)

    assert aws.calls == []


@pytest.mark.parametrize("preview", [True, False])
def test_a_record_that_is_missing_is_no_error(preview: bool) -> None:
    aws = Aws(preview=preview, standing=True)

    assert sent(deploy(SETTINGS, aws=aws))["follows"] == 0
    assert len(aws.calls) == 1


def test_a_record_that_can_not_be_read_stops_the_deployment() -> None:
    answer = "operation error DynamoDB: GetItem, https response error, AccessDeniedException: no"
    error, deployment = deploy_badly(SETTINGS, aws=Aws(record=answer))

    assert isinstance(error, pulumi.RunError)
    assert str(error).startswith("the record of the last deployment can't be read: ")
    assert answer in str(error)
    assert deployment.settlings() == []


def said(caplog: pytest.LogCaptureFixture, settings: dict[str, str], aws: Aws) -> list[str]:
    with caplog.at_level(logging.INFO):
        deploy(settings, aws=aws)
    return [record.getMessage() for record in caplog.records]


def test_a_preview_says_what_will_change(wish: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    settings = config(*THREE[:2], counters=["orders"], floors=wish["floors"], leaving=THREE[2:])
    aws = Aws(preview=True, standing=True, record=recorded(wish))

    assert said(caplog, settings, aws) == ["orders: epoch 3 → 4, gap about 30,000; leaving: ap-southeast-2"]


def test_a_preview_says_that_a_table_is_lost(wish: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    aws = Aws(preview=True, standing=True, record=recorded(wish), labels={"eu-west-1": None})

    assert said(caplog, SETTINGS, aws) == ["orders: epoch 3 → 4, gap up to 300,000,000; lost tables: eu-west-1"]


@pytest.mark.parametrize("preview", [True, False])
def test_nothing_is_said_where_nothing_changes_nor_by_the_update_itself(
    wish: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    preview: bool,
) -> None:
    assert said(caplog, SETTINGS, Aws(preview=preview, standing=True, record=recorded(wish))) == []
    if not preview:
        assert said(caplog, config(*THREE, window=1000), Aws(record=recorded(wish))) == []


def test_the_state_keeps_the_first_home_while_its_table_is_another_one() -> None:
    wish = sent(deploy(SETTINGS, aws=Aws(kept=f"{HOME} 2025-01-01T00:00:00.000")))["wish"]

    assert (wish["first"], wish["home"]) == (f"{HOME} 2025-01-01T00:00:00.000", HERE)


@pytest.mark.parametrize("kept", ["", "Managed by Pulumi"])
def test_a_stack_that_is_older_than_this_knows_no_first_home(kept: str) -> None:
    assert sent(deploy(SETTINGS, aws=Aws(kept=kept)))["wish"]["first"] == ""


@pytest.mark.parametrize("preview", [True, False])
def test_another_home_region_is_refused(preview: bool) -> None:
    aws = Aws(preview=preview, standing=True, kept=f"us-west-2 {LABEL}")
    error, deployment = deploy_badly(SETTINGS, aws=aws)

    assert isinstance(error, SettingsError)
    assert str(error) == f"aws:region: the home region was us-west-2 and can't be moved to {HOME}; set it back"
    assert deployment.settlings() == []


def test_no_description_is_no_first_home() -> None:
    assert first_home(None, HOME) == ""
