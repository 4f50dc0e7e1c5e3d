"""The coordinator works on DynamoDB in memory, over HTTP, as `python -m proof.bench.reconcile` measures it."""

import time
from collections.abc import Iterator

import coordinate.handler
import pytest
from coordinate.handler import CoordinatorError
from coordinate.metrics import Metrics
from coordinate.protocol.model import MAX_PAST

from global_integers_core.records import regions_of
from proof.bench import reconcile
from proof.bench.stand_in import serving
from proof.faulty_server import Fault, json_response
from proof.simulation.dynamodb import Database
from tests.lambda_.coordinator_calls import scheduled_run, send

NAMES = ("us-east-1", "eu-west-1", "ap-southeast-2")
HOME, _, NEW = NAMES
COUNTERS = 3


def reconciled() -> Database:
    return reconcile.reconciled(NAMES, COUNTERS, MAX_PAST, int(time.time()))


CONFLICTS = Fault(
    matches=lambda request: request.operation == "TransactWriteItems",
    share=0.5,
    replies=(
        json_response(
            {
                "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
            },
            400,
        ),
    ),
)
"""Another transaction checks the same item, as a coordinator's does."""


@pytest.fixture
def faults() -> list[Fault]:
    return []


@pytest.fixture
def database(faults: list[Fault], monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Serve three counters in two regions, of three, with these faults."""
    database = reconciled()
    variables = {"AWS_REGION": HOME, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "STACK": "bench"}
    for name, value in (variables | reconcile.NAMES).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(coordinate.handler, "METRICS", Metrics())
    with serving(database) as server:
        server.faults = faults
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield database


def test_a_run_has_nothing_to_do(database: Database) -> None:
    reply = scheduled_run()

    assert reply["registered"] == COUNTERS
    assert reply["pending"] == []
    assert database.calls["UpdateItem"] == 0


@pytest.mark.slow
def test_no_round_of_fences_is_lost_to_conflicts(database: Database, faults: list[Fault]) -> None:
    """Every second transaction conflicts. Each fence is written once all the same."""
    send(reconcile.change(NAMES, database))
    calm = database.calls["UpdateItem"]
    database.tables = reconciled().tables
    database.calls.clear()
    faults.append(CONFLICTS)

    reply = send(reconcile.change(NAMES, database))

    assert reply["registered"] == COUNTERS
    assert database.calls["UpdateItem"] == calm


def test_all_layouts_change_in_several_runs(database: Database) -> None:
    event = reconcile.change(NAMES, database)

    with pytest.raises(CoordinatorError, match=f"0 of {COUNTERS} counters are done"):
        send(event, lambda: reconcile.RESERVE)
    reply = scheduled_run()

    assert (reply["registered"], reply["pending"]) == (COUNTERS, [])
    register = database.tables[HOME, "layouts"].items["tenant-0002"]
    assert regions_of(register["regions"]) == (HOME, NEW)
    assert register["epoch"] == {"N": str(MAX_PAST + 2)}
    assert register["preceding"] == {"N": str(MAX_PAST + 1)}
