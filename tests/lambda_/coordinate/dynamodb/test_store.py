"""Operations on DynamoDB: what identifies a table, scans of many pages, and errors of writes that meet others."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.dynamodb.store import Store, replacement
from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Admitted, Claim, Item, ItemState, Refused

from global_integers_core.lattice import Layout
from tests.lambda_.aws_client.faults import whole
from tests.lambda_.coordinate.error_responses import answer
from tests.lambda_.coordinate.sample_records import record, register
from tests.lambda_.coordinator_calls import HOME, put_item
from tests.lambda_.fixtures import Stack
from tests.lambda_.table_losses import delete, recreate

EU, US = "eu-west-1", "us-west-2"
RECORD = record(HOME, EU)
REGISTER = replace(register(HOME, EU), counter="integers")


@pytest.fixture
def store(stack: Stack) -> Store:
    return Store(HOME, stack.layouts, stack.mirror, stack.counters, stack.receipts)


def test_layouts_are_recorded_once_and_nothing_beside_is_lost(stack: Stack, store: Store) -> None:
    client = stack.aws.client("dynamodb", EU)
    key = {"receipt": {"S": "integers/layouts"}}
    client.put_item(TableName=stack.receipts, Item={**key, "other": {"S": "stays"}})
    layouts = (Layout(1, 1, (EU,)),)

    assert store.carry_out(op.ReadRecorded(EU, "integers")) == ()
    assert store.carry_out(op.RecordLayouts(EU, "integers", layouts)) is True
    assert store.carry_out(op.RecordLayouts(EU, "integers", layouts)) is False
    assert store.carry_out(op.ReadRecorded(EU, "integers")) == layouts
    assert client.get_item(TableName=stack.receipts, Key=key).get("Item", {})["other"] == {"S": "stays"}


def test_what_is_too_large_to_be_stored_is_refused(store: Store) -> None:
    """Settings of which the record would be so large are refused by the program."""
    large = replace(RECORD, report="x" * 410_000)

    with pytest.raises(Refused, match=r"the home region's tables can't be used: .*[Ii]tem size"):
        store.carry_out(op.WriteRecord(None, large, None))
    assert store.carry_out(op.ReadRecord()) is None


def test_every_table_has_an_id_a_recreated_one_another(stack: Stack, store: Store) -> None:
    described = [op.DescribeLayouts(), op.DescribeMirror(), op.DescribeTable(HOME), op.DescribeTable(EU)]
    before = [store.carry_out(operation) for operation in described]
    assert [store.carry_out(operation) for operation in described] == before
    assert len({*before}) == 4

    recreate(stack, EU, stack.counters)
    recreate(stack, HOME, stack.layouts)
    after = [store.carry_out(operation) for operation in described]
    assert [new == old for new, old in zip(after, before, strict=True)] == [False, True, True, False]


def test_a_table_without_an_id_is_told_by_its_creation(stack: Stack, store: Store) -> None:
    described = {"Table": {"TableName": "t", "CreationDateTime": 1_795_000_000.25}}
    answer(stack, lambda _region, _operation, _request: whole(described))

    assert store.carry_out(op.DescribeTable(EU)) == "1795000000.25"


def test_deployments_know_the_layouts_table_by_its_stream(stack: Stack, store: Store) -> None:
    client = stack.aws.client("dynamodb", HOME)
    described = client.describe_table(TableName=stack.layouts)["Table"]
    assert store.carry_out(op.DescribeStream()) == described.get("LatestStreamLabel") != ""

    delete(stack, HOME, stack.layouts)
    key = {"KeySchema": described.get("KeySchema"), "AttributeDefinitions": described.get("AttributeDefinitions")}
    client.create_table(TableName=stack.layouts, BillingMode="PAY_PER_REQUEST", **key)  # pyright: ignore[reportArgumentType]
    assert store.carry_out(op.DescribeStream()) == ""
    delete(stack, HOME, stack.layouts)


def test_a_region_without_a_table_says_so(stack: Stack, store: Store) -> None:
    delete(stack, EU, stack.counters)

    assert [store.carry_out(o) for o in (op.DescribeTable(EU), op.ReadItem(EU, "c"), op.ScanItems(EU))] == [
        Absent.GONE
    ] * 3
    delete(stack, HOME, stack.layouts)
    with pytest.raises(Refused, match="us-east-1: the layouts table or its mirror does not exist"):
        store.carry_out(op.DescribeLayouts())


def test_a_scan_reads_all_pages(stack: Stack, store: Store) -> None:
    names = [f"c{n}" for n in range(7)]
    for name in names:
        put_item(stack, EU, Item(1, 2, 3, 4), name)
    stack.monkeypatch.setattr("coordinate.dynamodb.store.PAGE", 2)
    calls: list[str] = []
    answer(stack, lambda _region, operation, _request: calls.append(operation))

    assert store.carry_out(op.ScanItems(EU)) == dict.fromkeys(names, Item(1, 2, 3, 4))
    assert calls.count("scan") >= 4


@pytest.mark.parametrize(
    ("held", "epoch", "past"), [("", 1, None), ("", 2, (1, 5)), ("another run", 1, None), ("another run", 2, None)]
)
def test_what_was_issued_in_an_epoch_that_ends_is_noted(
    stack: Stack, store: Store, held: str, epoch: int, past: tuple[int, int] | None
) -> None:
    put_item(stack, EU, Item(5, 2, 9, 1, fenced=bool(held), held=held))

    assert store.carry_out(op.FenceItem(EU, "integers", ItemState(1, held), epoch, 0)) == 5
    found = store.carry_out(op.ReadItem(EU, "integers"))
    assert (found, found.past) == (Item(5, 2, 5, epoch, fenced=True), past)


def test_a_change_of_an_item_says_whether_it_was_made(stack: Stack, store: Store) -> None:
    put_item(stack, EU, Item(5, 2, 9, 1), "integers")
    another = ItemState(1, "another run")

    assert store.carry_out(op.HoldItem(EU, "orders", another, None)) is True
    assert store.carry_out(op.HoldItem(EU, "integers", another, None)) is False
    assert store.carry_out(op.FenceItem(EU, "integers", another, 2, 0)) is False


def test_every_read_is_consistent(stack: Stack, store: Store) -> None:
    seen: list[Any] = []
    answer(stack, lambda _region, operation, request: seen.append((operation, request.get("ConsistentRead"))))
    for read in (op.ReadItem(EU, "c"), op.ReadRegister("c"), op.ReadCopy("c"), op.ReadRecord(), op.ScanItems(EU)):
        store.carry_out(read)
    store.carry_out(op.ReadRecorded(EU, "c"))

    assert seen == [*[("getitem", True)] * 4, ("scan", True), ("getitem", True)]


def test_a_home_without_a_record_is_claimed_all_the_same(store: Store) -> None:
    """Then the mirror has nothing that must be marked as taken."""
    assert store.carry_out(op.WriteClaim(None, Claim("eu-west-1"), None, None)) is True
    assert store.carry_out(op.ReadAdmitted()) == Claim("eu-west-1")


def test_a_replacement_compares_every_attribute() -> None:
    """And what only the new item has must not be there yet."""
    assert replacement("t", Claim("r", token="a"), Admitted("id", "b")) == {
        "TableName": "t",
        "Item": {"counter": {"S": "/admitted"}, "layoutsId": {"S": "id"}, "token": {"S": "b"}},
        "ConditionExpression": "#home = :home AND #token = :token AND attribute_not_exists(#layoutsId)",
        "ExpressionAttributeNames": {"#home": "home", "#token": "token", "#layoutsId": "layoutsId"},
        "ExpressionAttributeValues": {":home": {"S": "r"}, ":token": {"S": "a"}},
    }
