"""The coordinator works on the stand-in for DynamoDB as `python -m proof.bench.reconcile` measures it."""

from collections.abc import Iterator
from contextlib import closing

import coordinate.handler
import pytest
from aws_client.service import DynamoDB, ServiceError, set_deadline
from coordinate.dynamodb.store import Store
from coordinate.handler import CoordinatorError
from coordinate.metrics import Metrics
from coordinate.protocol.model import MAX_PAST
from coordinate.protocol.operations import ReadRegister, ScanItems

from global_integers_core.records import recorded_of
from proof.bench import reconcile
from proof.bench.stand_in import PAGE, Tables, serving

NAMES = ("us-east-1", "eu-west-1", "ap-southeast-2")
HOME, EU, NEW = NAMES
COUNTERS = 3


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    """Serve three counters in two regions, of three, and let boto3 find them."""
    tables = reconcile.world(NAMES, COUNTERS)
    variables = {"AWS_REGION": HOME, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "STACK": "bench"}
    for name, value in (variables | reconcile.NAMES).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(coordinate.handler, "METRICS", Metrics())
    with serving(tables.answer) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield tables
    set_deadline(None)


@pytest.fixture
def store(tables: Tables) -> Store:
    return Store(HOME, *reconcile.NAMES.values())


def test_a_run_has_nothing_to_do(tables: Tables) -> None:
    reply = coordinate.handler.handler(reconcile.SCHEDULED, reconcile.Context(reconcile.LIMIT))

    assert reply["registered"] == COUNTERS
    assert reply["pending"] == []
    assert tables.calls["UpdateItem"] == 0


@pytest.mark.slow
def test_no_round_of_fences_is_lost_to_conflicts(tables: Tables) -> None:
    """Every second transaction conflicts. Each fence is written once all the same."""
    coordinate.handler.handler(reconcile.change(NAMES, tables), reconcile.Context(reconcile.LIMIT))
    calm = tables.calls["UpdateItem"]
    tables.tables = reconcile.world(NAMES, COUNTERS).tables
    tables.calls.clear()
    tables.conflicts = 0.5

    reply = coordinate.handler.handler(reconcile.change(NAMES, tables), reconcile.Context(reconcile.LIMIT))

    assert reply["registered"] == COUNTERS
    assert tables.calls["UpdateItem"] == calm


def test_all_layouts_change_in_several_runs(tables: Tables) -> None:
    event = reconcile.change(NAMES, tables)

    with pytest.raises(CoordinatorError, match=f"0 of {COUNTERS} counters are done"):
        coordinate.handler.handler(event, reconcile.Context(reconcile.RESERVE / 1000))
    reply = coordinate.handler.handler(reconcile.SCHEDULED, reconcile.Context(reconcile.LIMIT))

    assert (reply["registered"], reply["pending"]) == (COUNTERS, [])
    register = Store(HOME, *reconcile.NAMES.values()).carry_out(ReadRegister("tenant-0002"))
    assert register.regions == (HOME, NEW)
    assert register.epoch == MAX_PAST + 2
    assert register.preceding == MAX_PAST + 1
    attributes = tables.tables[HOME, "receipts"].items["tenant-0002/layouts"].attributes
    assert len(recorded_of(attributes).layouts) == MAX_PAST + 1
    assert "issued_1" not in attributes
    assert f"issued_{MAX_PAST}" in attributes


def test_a_page_ends_by_the_bytes_that_are_stored(tables: Tables, store: Store) -> None:
    stored = tables.tables[HOME, "counters"].items["tenant-0001"]
    for number in range(4):
        tables.tables[HOME, "counters"].items[f"large-{number}"] = stored._replace(size=PAGE // 2)

    assert len(store.carry_out(ScanItems(HOME))) == COUNTERS + 4
    assert tables.calls["Scan"] == 3


@pytest.mark.parametrize("expression", ["ADD issued :one", "SET issued = issued - :one"])
def test_an_update_that_it_does_not_know_is_rejected(tables: Tables, expression: str) -> None:
    before = tables.tables[EU, "counters"].items["tenant-0001"]

    with closing(DynamoDB(EU)) as dynamodb, pytest.raises(ServiceError, match=r"ValidationException.*know"):
        dynamodb.call(
            "UpdateItem",
            {
                "TableName": "counters",
                "Key": {"counter": {"S": "tenant-0001"}},
                "UpdateExpression": expression,
                "ExpressionAttributeValues": {":one": {"N": "41"}},
            },
        )
    assert tables.tables[EU, "counters"].items["tenant-0001"] == before
