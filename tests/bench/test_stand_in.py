"""The stand-in for DynamoDB behaves like the tables in memory, and rejects what it doesn't know."""

import json
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import Pipe
from threading import Thread
from types import SimpleNamespace
from typing import Any

import coordinate.handler
import pytest
from botocore.exceptions import ClientError
from coordinate.dynamodb.store import Store
from coordinate.handler import CoordinatorError
from coordinate.monitoring.metrics import Metrics
from coordinate.protocol.model import MAX_PAST, Absent, Copy, Item
from coordinate.protocol.operations import (
    CloseItem,
    DescribeLayouts,
    FenceItem,
    OpenItem,
    PlaceItem,
    RaiseItem,
    ReadAccepted,
    ReadCopy,
    ReadItem,
    ReadRecord,
    ReadRegister,
    RecordLayouts,
    RenewItem,
    ScanCopies,
    ScanItems,
    ScanRegisters,
    WriteCopy,
    WriteRecord,
    WriteRegister,
)

from bench import reconcile
from bench.stand_in import PAGE, Tables, serve
from integers.lattice import Layout
from simulation.world import CounterKey, World
from tests.lambda_.laying_out import client

NAMES = ("us-east-1", "eu-west-1", "ap-southeast-2")
HOME, EU, NEW = NAMES
COUNTERS = 3


def at_once(_: str) -> float:
    return 0.0


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    """Serve three counters in two regions, of three, and let boto3 find them."""
    tables = reconcile.world(NAMES, COUNTERS)
    ends: Any = Pipe()
    ours, theirs = ends
    server = Thread(target=serve, args=(theirs, tables, at_once))
    server.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{ours.recv()}")
    variables = {"AWS_REGION": HOME, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "STACK": "bench"}
    for name, value in (variables | reconcile.NAMES).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("coordinate.dynamodb.tables.boto3", SimpleNamespace(client=client))
    monkeypatch.setattr(coordinate.handler, "METRICS", Metrics())
    yield tables
    ours.close()
    server.join()
    theirs.close()


@pytest.fixture
def store(tables: Tables) -> Store:
    return Store(HOME, *reconcile.NAMES.values())


def test_a_run_has_nothing_to_do(tables: Tables) -> None:
    reply = coordinate.handler.handler(reconcile.WATCH, reconcile.Context(reconcile.LIMIT))

    assert reply["registered"] == COUNTERS
    assert reply["pending"] == []
    assert set(tables.counts.largest) == {"layouts", "mirror"}
    assert tables.counts.calls["UpdateItem"] == 0


def test_all_layouts_change_in_several_runs(tables: Tables) -> None:
    label = reconcile.home_id(tables)
    desired = json.loads(reconcile.asked((HOME, NEW), (EU,), HOME, label))
    event: dict[str, Any] = {"wish": desired, "follows": 1, "asked": tables_now(tables)}

    with pytest.raises(CoordinatorError, match=f"0 of {COUNTERS} counters are done"):
        coordinate.handler.handler(event, reconcile.Context(0))
    reply = coordinate.handler.handler(reconcile.WATCH, reconcile.Context(reconcile.LIMIT))

    assert (reply["registered"], reply["pending"]) == (COUNTERS, [])
    register = Store(HOME, *reconcile.NAMES.values()).carry_out(ReadRegister("tenant-2"))
    assert register.regions == (HOME, NEW)
    assert register.epoch == MAX_PAST + 2
    assert len(register.past) == MAX_PAST
    assert "issued_1" not in tables.tables[HOME, "counters"].items["tenant-2"].attributes


def test_it_answers_as_the_tables_in_memory(store: Store) -> None:
    register, record = store.carry_out(ReadRegister("tenant-1")), store.carry_out(ReadRecord())
    copy, item = store.carry_out(ReadCopy("tenant-1")), store.carry_out(ReadItem(HOME, "tenant-1"))
    world = World()
    world.layouts.id, world.mirror.id, world.layouts.record = register.home, copy.mirror, record
    for name in ("integers", "tenant-1", "tenant-2"):
        world.layouts.registers[name] = replace(register, counter=name)
        world.mirror.copies[name] = Copy(replace(register, counter=name), copy.mirror)
        for region in (HOME, EU):
            world.make_table(region)
            world.tables[region].counters[name] = CounterKey(
                store.carry_out(ReadItem(region, name)), {}, register.layouts
            )
    world.make_table(NEW)
    epoch, later = register.epoch, replace(register, epoch=register.epoch + 1, past=register.layouts[1:])
    layouts = (*register.layouts[1:], Layout(epoch + 1, register.limit + 1, (HOME, NEW)))
    placed = Item(1, 2, 1, epoch, fenced=True, opening="token")
    operations = (
        *(DescribeLayouts(), ReadAccepted(), ReadCopy("nobody"), ReadItem(NEW, "tenant-1"), ReadItem(HOME, "nobody")),
        *(ScanRegisters(), ScanCopies(), ScanItems(HOME), ScanItems(NEW), ScanItems("eu-north-1")),
        RaiseItem(HOME, "tenant-1", epoch, item.ceiling),
        RaiseItem(HOME, "tenant-1", epoch, item.ceiling + 2),
        FenceItem(HOME, "tenant-1", epoch, 10, item.issued - 1),
        *(FenceItem(HOME, "tenant-1", epoch, 10, item.issued), FenceItem(HOME, "tenant-1", epoch, None)),
        FenceItem(EU, "tenant-1", epoch, None),
        *(RecordLayouts(HOME, "tenant-1", layouts), RecordLayouts(HOME, "tenant-1", layouts)),
        RecordLayouts(NEW, "tenant-1", layouts),
        *(PlaceItem(NEW, "tenant-1", placed, None), PlaceItem(NEW, "tenant-1", placed, None)),
        *(PlaceItem(NEW, "tenant-1", placed, "other"), PlaceItem(NEW, "tenant-1", placed, "token")),
        *(OpenItem(NEW, "tenant-1", "other", 9), OpenItem(NEW, "tenant-1", "token", 9)),
        *(CloseItem(EU, "tenant-2", 1, 2), CloseItem(EU, "tenant-2", epoch, epoch + 1)),
        *(RenewItem(HOME, "tenant-1", Item(8, 2, 80, epoch + 1), over) for over in (epoch, epoch)),
        *(WriteRegister(register, later, replace(record, number=9)), WriteRegister(register, later, record)),
        *(WriteRegister(register, later, record), WriteRegister(None, later, record)),
        *(WriteCopy(copy, Copy(later, copy.mirror)), WriteCopy(copy, Copy(later, copy.mirror))),
        *(WriteRecord(None, record), WriteRecord(record, replace(record, number=2)), ReadAccepted()),
        *(ReadItem(region, name) for region in NAMES for name in ("tenant-1", "tenant-2")),
        *(ReadRegister("tenant-1"), ReadCopy("tenant-1")),
    )

    answers = [store.carry_out(operation) for operation in operations]

    assert answers == [world.carry_out(operation) for operation in operations]
    assert {True, False, None, Absent.GONE} <= {answer for answer in answers if not isinstance(answer, dict)}


def test_a_page_ends_by_the_bytes_that_are_stored(tables: Tables, store: Store) -> None:
    stored = tables.tables[HOME, "counters"].items["tenant-1"]
    for number in range(4):
        tables.tables[HOME, "counters"].items[f"large-{number}"] = stored._replace(size=PAGE // 2)

    assert len(store.carry_out(ScanItems(HOME))) == COUNTERS + 4
    assert tables.counts.calls["Scan"] == 3
    assert tables.counts.reads > 4 * PAGE // 2 // 4096


@pytest.mark.parametrize(
    "unknown",
    [
        {"ConditionExpression": "size(epoch) > :one"},
        {"ConditionExpression": "epoch = :one AND NOT fenced = :one"},
        {"ConditionExpression": "(epoch = :one)"},
        {"UpdateExpression": "ADD issued :one"},
        {"UpdateExpression": "SET issued = issued - :one"},
        {"ReturnValues": "UPDATED_OLD"},
        {"ReturnConsumedCapacity": "TOTAL"},
    ],
    ids=str,
)
def test_what_it_does_not_know_is_rejected(tables: Tables, unknown: dict[str, str]) -> None:
    asked: dict[str, Any] = {
        "TableName": "counters",
        "Key": {"counter": {"S": "tenant-1"}},
        "UpdateExpression": "SET issued = :one",
        "ReturnValues": "ALL_NEW",
        "ExpressionAttributeValues": {":one": {"N": "41"}},
    }
    before = tables.tables[EU, "counters"].items["tenant-1"]

    with pytest.raises(ClientError, match=r"ValidationException.*know|ValidationException.*ReturnValues"):
        client("dynamodb", EU).update_item(**asked | unknown)
    assert tables.tables[EU, "counters"].items["tenant-1"] == before


def tables_now(tables: Tables) -> int:
    """Return when the record was asked for."""
    return int(tables.tables[HOME, "layouts"].items["/deployment"].attributes["asked"]["N"])
