"""Regions that don't answer: no change waits for them, and nothing is minted twice when they are back."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from coordinate.handler import CoordinatorError

from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    deploy,
    deployment,
    item,
    items,
    laid_out,
    register,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import cut_off

EU = "eu-west-1"


@pytest.fixture
def denied(stack: Stack) -> Generator[dict[str, str]]:
    """The keys of a user whom a policy denies one region, as an organization's policy would."""
    with keys(stack, "*") as found:
        yield found


@contextmanager
def keys(stack: Stack, denied: str) -> Generator[dict[str, str]]:
    """Keys of a user whom a policy denies this resource in one region."""
    iam: Any = stack.aws.client("iam", HOME)
    name = f"user-of-{stack.counters}"
    denying = {
        "Effect": "Deny",
        "Action": "*",
        "Resource": denied,
        "Condition": {"StringEquals": {"aws:RequestedRegion": EU}},
    }
    allowed = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    iam.create_user(UserName=name)
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed, denying]})
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    yield {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    iam.delete_access_key(UserName=name, AccessKeyId=key["AccessKeyId"])
    iam.delete_user_policy(UserName=name, PolicyName="p")
    iam.delete_user(UserName=name)


def mint(ask: Ask, *regions: str) -> list[int]:
    return [ask("POST", "/", region)["document"]["integer"] for region in regions for _ in range(3)]


def test_an_unreachable_region_blocks_no_change_and_comes_back(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted = mint(ask, *REGIONS)
    standing = register(stack)
    assert standing is not None

    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU)
        reply = deploy(HOME, EU, "us-west-2")
        assert (reply["pending"], reply["counters"]["integers"]["pending"]) == ([EU], [EU])
        assert reply["counters"]["integers"]["base"] == standing.limit + 1
        minted += mint(ask, HOME, EU, "us-west-2")
        assert scheduled_run()["pending"] == [EU]

    assert scheduled_run()["pending"] == []
    assert item(stack, EU) != item(stack, HOME)
    assert [found.epoch for found in items(stack, HOME, EU, "us-west-2") if found] == [2, 2, 2]
    minted += mint(ask, HOME, EU, "us-west-2")
    assert len({*minted}) == len(minted)


def test_a_region_that_will_never_come_back_can_be_taken_out(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted = mint(ask, *REGIONS)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU)
        assert deploy(HOME, "ap-southeast-2")["pending"] == []

    minted += mint(ask, HOME, EU, "ap-southeast-2")
    assert len({*minted}) == len(minted), "it is bounded by the limit"
    assert deploy(*REGIONS)["pending"] == []
    minted += mint(ask, *REGIONS)
    assert len({*minted}) == len(minted)


def test_a_region_that_was_given_nothing_skips_no_integers(stack: Stack) -> None:
    laid_out(HOME)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU)
        deploy(HOME, EU)
        reply = deploy(HOME, EU, "us-west-2")["counters"]["integers"]

    assert (reply["epoch"], reply["pending"]) == (3, [EU])
    assert reply["base"] < 100_000


def test_a_denied_region_is_pending(
    stack: Stack, ask: Ask, denied: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    with pytest.MonkeyPatch.context() as patch:
        event = deployment(HOME, EU, "us-west-2")
        for name, value in denied.items():
            patch.setenv(name, value)
        assert send(event)["pending"] == [EU]
        assert create("invoices")["pending"] == [EU]

    assert scheduled_run()["pending"] == []
    found = item(stack, EU, "invoices")
    assert found is not None
    assert found.epoch == 1


def test_a_region_whose_receipts_are_denied_follows_all_the_same(
    stack: Stack, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    minted = mint(ask, *REGIONS)
    monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    event = deployment(*REGIONS[::-1])
    with keys(stack, f"arn:aws:dynamodb:*:*:table/{stack.receipts}") as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.items():
            patch.setenv(name, value)
        assert send(event)["pending"] == []
    minted += mint(ask, *REGIONS)

    assert len({*minted}) == len(minted)
    assert ask("GET", f"/integers/{minted[0]}", EU)["statusCode"] == 503, "it doesn't know this layout"
    scheduled_run()
    owner = ask("GET", f"/integers/{minted[0]}", EU)["document"]
    assert (owner["region"], owner["epoch"]) == (HOME, 1)


def test_an_epoch_goes_on_if_no_region_of_the_new_layout_answers(stack: Stack, ask: Ask) -> None:
    laid_out(HOME)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU, "us-west-2")
        with pytest.raises(CoordinatorError, match=r"none of eu-west-1, us-west-2 answers.*Nothing was changed"):
            deploy(EU, "us-west-2")
    found = item(stack, HOME)
    assert found is not None
    assert (found.epoch, found.fenced) == (1, False)
    assert ask()["document"]["integer"] == 1

    assert scheduled_run()["counters"]["integers"]["regions"].keys() == {HOME}
    assert deploy(EU, "us-west-2")["counters"]["integers"]["regions"].keys() == {EU, "us-west-2"}


def test_a_home_region_that_refuses_is_said(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinate.dynamodb.calls.RETRY_SECONDS", 0)
    cut_off(monkeypatch, HOME)

    with pytest.raises(CoordinatorError, match="us-east-1: the home region's tables can't be used"):
        deploy()
