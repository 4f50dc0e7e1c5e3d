"""Regions that are added and removed, floors, and what is refused: on real tables."""

from threading import Thread
from types import SimpleNamespace
from typing import Any

import coordinate.store
import pytest
from coordinate.handler import CoordinatorError

import tests.lambda_.laying_out
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.laying_out import REGIONS, create, delete_item, deploy, item, items, register


def integer(ask: Ask, region: str, path: str = "/") -> int:
    return ask("POST", path, region)["document"]["integer"]


def test_a_region_comes_and_opens_above_everything_minted(stack: Stack, ask: Ask) -> None:
    deploy("us-east-1", "eu-west-1")
    before = [integer(ask, "us-east-1") for _ in range(3)]

    settled = deploy("us-east-1", "eu-west-1", "us-west-2")["counters"]["integers"]

    assert settled["epoch"] == 2
    assert settled["base"] == before[-1] + 2 * 10_000 + 1
    after = [integer(ask, region) for region in ("us-east-1", "eu-west-1", "us-west-2")]
    assert sorted(after) == list(range(settled["base"], settled["base"] + 3))


def test_a_region_that_leaves_is_fenced(stack: Stack) -> None:
    deploy()
    deploy("us-east-1")

    left = item(stack, "eu-west-1")
    assert left is not None
    assert (left.fenced, left.epoch, left.ceiling) == (True, 1, -1 + 3 * 10_000)


def test_a_new_order_is_a_new_layout(stack: Stack, ask: Ask) -> None:
    deploy()
    settled = deploy(*reversed(REGIONS))["counters"]["integers"]

    assert settled["regions"]["ap-southeast-2"] == {"offset": 1, "stride": 3}
    assert integer(ask, "ap-southeast-2") % 3 == 1


def test_counters_created_while_it_runs_follow(stack: Stack, ask: Ask) -> None:
    deploy()
    create("tenant-1", "tenant-2")

    assert deploy("us-east-1", "us-west-2")["registered"] == 3
    assert integer(ask, "us-west-2", "/tenant-2") % 2 == 0


def test_coordinators_at_the_same_time_report_the_same(stack: Stack) -> None:
    deploy()
    outcomes: list[Any] = []

    def run() -> None:
        outcomes.append(deploy("us-east-1", "us-west-2"))

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == [outcomes[0]] * 3
    assert outcomes[0]["counters"]["integers"]["epoch"] == 2


def test_a_floor_opens_a_new_epoch_above_it_once(stack: Stack, ask: Ask) -> None:
    deploy()

    settled = deploy(floors={"integers": 5_000_000})["counters"]["integers"]
    assert (settled["epoch"], settled["base"]) == (2, 5_000_000)
    assert integer(ask, "us-east-1") >= 5_000_000
    assert deploy(floors={"integers": 5_000_000})["counters"]["integers"]["epoch"] == 2
    assert deploy()["counters"]["integers"]["epoch"] == 2


def test_a_new_counter_begins_at_its_floor(stack: Stack, ask: Ask) -> None:
    assert deploy(floors={"integers": 1000})["counters"]["integers"] | {"regions": {}} == {
        "epoch": 1,
        "base": 1000,
        "regions": {},
    }
    assert sorted(integer(ask, region) for region in REGIONS) == [1000, 1001, 1002]


@pytest.mark.parametrize("floor", [0, -1, 2**53, 1.5, "5", True, None])
def test_a_floor_that_is_none_is_refused(stack: Stack, floor: object) -> None:
    with pytest.raises(CoordinatorError, match="is not an integer from 1 to 4503599627370496"):
        deploy(floors={"integers": floor})
    assert register(stack) is None


def test_a_floor_of_no_counter_is_refused(stack: Stack) -> None:
    with pytest.raises(CoordinatorError, match="there is no counter orders"):
        deploy(floors={"orders": 5})


def test_a_lost_table_stops_a_change_before_it_begins_and_a_floor_recovers(stack: Stack, ask: Ask) -> None:
    deploy()
    minted = [integer(ask, region) for region in REGIONS * 2]
    delete_item(stack, "eu-west-1")
    before = items(stack)

    with pytest.raises(CoordinatorError, match="eu-west-1 has no item"):
        deploy("us-east-1", "eu-west-1", "us-west-2")
    assert items(stack) == before

    deploy(floors={"integers": 1_000_000})
    again = [integer(ask, region) for region in REGIONS]
    assert min(again) >= 1_000_000
    assert not set(again) & set(minted)


def test_a_region_lost_for_good_can_be_taken_out_with_a_floor(stack: Stack, ask: Ask) -> None:
    deploy()
    stack.aws.client("dynamodb", "eu-west-1").delete_table(TableName=stack.counters)

    with pytest.raises(CoordinatorError, match="eu-west-1 has no item"):
        deploy("us-east-1", "ap-southeast-2")
    settled = deploy("us-east-1", "ap-southeast-2", floors={"integers": 10_000_000})
    assert settled["counters"]["integers"]["base"] == 10_000_000


def test_a_region_that_cant_be_reached_stops_the_change_and_the_layout_stands(
    stack: Stack, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    before = items(stack)
    real: Any = coordinate.store.boto3.client  # pyright: ignore[reportUnknownVariableType]

    def unreachable(service: str, region_name: str, config: Any) -> Any:
        away = {"endpoint_url": "http://127.0.0.1:1"} if region_name == "eu-west-1" else {}
        return real(service, region_name=region_name, config=config, **away)

    monkeypatch.setattr(coordinate.store.boto3, "client", unreachable)

    with pytest.raises(CoordinatorError, match="eu-west-1: can't be reached"):
        deploy("us-east-1", "us-west-2")
    assert items(stack) == before
    standing = register(stack)
    assert standing is not None
    assert (standing.epoch, standing.next) == (1, None)


def test_access_that_stays_denied_is_reported(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinate.retries.RETRY_SECONDS", 0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIANOSUCHKEY0000000")

    with pytest.raises(CoordinatorError, match="DynamoDB refused"):
        deploy()


def test_what_does_not_fit_in_the_time_goes_on_when_run_again(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"tenant-{n}" for n in range(60)]
    deploy(counters=names)
    left = [70_000]

    def remaining() -> int:
        left[0] -= 500
        return left[0]

    with monkeypatch.context() as patch:
        patch.setattr(tests.lambda_.laying_out, "CONTEXT", SimpleNamespace(get_remaining_time_in_millis=remaining))
        with pytest.raises(CoordinatorError, match=r"of 60 counters are done; time ran out. Deploy again"):
            deploy("us-east-1", counters=names)
    settled = deploy("us-east-1", counters=names)["counters"]
    assert {entry["epoch"] for entry in settled.values()} == {2}
