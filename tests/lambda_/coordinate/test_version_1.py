"""Layouts that version 1 has left: registers without a limit, and items with the largest ceilings."""

from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.model import Item

from integers.lattice import MAX_INTEGER, places
from integers.records import regions_attribute
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.laying_out import HOME, REGIONS, deploy, items, make_table, put_item, register, watch
from tests.lambda_.losing import cut_off, everything

EU = "eu-west-1"
COUNTERS = ["integers", "invoices"]


@pytest.fixture
def version_1(stack: Stack) -> Stack:
    """Two counters, the second one of which no setting names, as version 1 has opened them."""
    client = stack.aws.client("dynamodb", HOME)
    standing: Any = {"counter": {"S": "/standing"}, "regions": regions_attribute(REGIONS)}
    client.put_item(TableName=stack.layouts, Item=standing)
    for counter in COUNTERS:
        stored: Any = {
            "counter": {"S": counter},
            "epoch": {"N": "1"},
            "regions": regions_attribute(REGIONS),
            "base": {"N": "1"},
            "born": {"S": "6a1f"},
            "opened": {"BOOL": True},
        }
        client.put_item(TableName=stack.layouts, Item=stored)
        for region, place in places(REGIONS).items():
            ceiling = MAX_INTEGER - (MAX_INTEGER - place.offset) % place.stride
            put_item(stack, region, Item(place.before(1), place.stride, ceiling, 1), counter)
    return stack


def mint(ask: Ask, *regions: str, counter: str = "integers") -> list[int]:
    return [ask("POST", f"/{counter}", region)["document"]["integer"] for region in regions for _ in range(3)]


def test_with_all_regions_there_a_new_epoch_begins_with_a_limit(version_1: Stack, ask: Ask) -> None:
    before = {counter: mint(ask, *REGIONS, counter=counter) for counter in COUNTERS}

    reply = deploy()

    assert (reply["registered"], reply["pending"], reply["created"]) == (2, [], [])
    for counter in COUNTERS:
        found = register(version_1, counter)
        assert found is not None
        assert (found.epoch, found.limit - found.base + 1) == (2, 3 * 100_000_000)
        assert found.base > max(before[counter])
        assert all(i is not None and i.ceiling <= found.limit for i in items(version_1, counter=counter))
        assert not {*mint(ask, *REGIONS, counter=counter)} & {*before[counter]}
        assert [(layout.epoch, layout.base) for layout in found.layouts] == [(1, 1), (2, found.base)]


def test_regions_may_change_at_the_same_time(version_1: Stack, ask: Ask) -> None:
    before = mint(ask, *REGIONS)
    reply = deploy(HOME, "us-west-2")

    assert (reply["pending"], reply["registered"]) == ([], 2)
    assert min(mint(ask, HOME, "us-west-2")) > max(before)


def test_with_one_region_away_it_is_refused_with_what_to_do(version_1: Stack, ask: Ask) -> None:
    before = everything(version_1, *REGIONS)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU)
        with pytest.raises(CoordinatorError) as said:
            deploy()

    for counter in COUNTERS:
        assert (
            f"{counter}: eu-west-1 must answer once, since version 1 set no limit to what a region may mint. "
            "Deploy again when it does. If its table was lost, set a floor"
        ) in str(said.value)
    after = everything(version_1, *REGIONS)
    assert {region: after[region] for region in REGIONS} == {region: before[region] for region in REGIONS}
    assert len(mint(ask, *REGIONS)) == 9
    assert watch()["pending"] == []
    assert {i.epoch for i in items(version_1) if i} == {2}


def test_a_change_that_version_1_had_begun_is_finished(version_1: Stack, ask: Ask) -> None:
    """It had fenced all regions, written epoch 2, and renewed one of them."""
    before = mint(ask, *REGIONS)
    base = 30_010
    new = places((HOME, "us-west-2"))
    stored: Any = {
        "counter": {"S": "integers"},
        "epoch": {"N": "2"},
        "regions": regions_attribute((HOME, "us-west-2")),
        "base": {"N": str(base)},
        "born": {"S": "6a1f"},
        "opened": {"BOOL": False},
    }
    version_1.aws.client("dynamodb", HOME).put_item(TableName=version_1.layouts, Item=stored)
    put_item(version_1, HOME, Item(new[HOME].before(base), 2, MAX_INTEGER, 2))
    before += mint(ask, HOME)

    reply = deploy(HOME, "us-west-2")["counters"]["integers"]

    assert (reply["pending"], reply["epoch"]) == ([], 3)
    assert min(mint(ask, HOME, "us-west-2")) > max(before)


def test_a_table_that_is_lost_at_the_upgrade_needs_a_floor(version_1: Stack, ask: Ask) -> None:
    before = mint(ask, *REGIONS)
    lost = version_1.aws.client("dynamodb", "eu-west-1")
    lost.delete_table(TableName=version_1.counters)

    with pytest.raises(CoordinatorError, match=r"eu-west-1 must answer once.*\n?.*floor"):
        deploy()

    make_table(version_1.aws, "eu-west-1", version_1.counters)
    with pytest.raises(CoordinatorError, match="eu-west-1 must answer once"):
        deploy()
    deploy(floors={"*": 1_000})
    after = mint(ask, *REGIONS)
    assert min(after) >= 1_000 > max(before)
