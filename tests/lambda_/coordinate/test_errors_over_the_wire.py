"""Whatever one region answers, the others and all counters go on; and the home region's moments are waited for."""

import re
from collections.abc import Generator
from typing import Any

import pytest
import trustme
from coordinate.handler import CoordinatorError

from local.resources import Aws
from tests.lambda_.aws.faulty_server import FaultyServer, certified
from tests.lambda_.coordinate.shapes import (
    OUTAGES,
    THROTTLES,
    TRANSIENT,
    Front,
    error,
    leads_to,
    stopped_clock,
)
from tests.lambda_.fixtures import Stack
from tests.lambda_.laying_out import HOME, REGIONS, deploy, deployment, items, laid_out, register, send, watch
from tests.lambda_.losing import everything

EU, US = "eu-west-1", "us-west-2"
COUNTERS = ["integers", "busy", "invoices"]


@pytest.fixture(scope="module")
def server(aws: Aws) -> Generator[Front]:
    with Front(aws.endpoint) as server:
        yield server


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_clock(monkeypatch)
    monkeypatch.setattr("coordinate.retries.RETRY_SECONDS", 4)  # enough for five attempts, and few in a test's time
    monkeypatch.setattr("coordinate.retries.REGION_SECONDS", 4)


@pytest.fixture
def front(server: Front, stack: Stack) -> Front:
    server.answer = lambda _operation, _request: None
    return server


def always(answer: bytes, front: Front) -> None:
    front.answer = lambda _operation, _request: answer


def for_a_moment(answer: bytes, front: Front, times: int = 4) -> None:
    left = iter([answer] * times)
    front.answer = lambda _operation, _request: next(left, None)


@pytest.mark.parametrize("shape", TRANSIENT)
def test_a_region_that_fails_is_pending_and_others_go_on(
    shape: str, stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    event = deployment(HOME, EU, US)
    leads_to(monkeypatch, EU, front.url)
    always(TRANSIENT[shape], front)

    reply = send(event)

    assert reply["pending"] == [EU]
    assert [item.epoch for item in items(stack, HOME, EU, US) if item] == [2, 1, 2]
    front.answer = lambda _operation, _request: None
    assert watch()["pending"] == []
    assert [item.epoch for item in items(stack, HOME, EU, US) if item] == [2, 2, 2]


@pytest.mark.parametrize("shape", TRANSIENT)
def test_a_home_region_that_fails_for_a_moment_is_waited_for(
    shape: str, stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    leads_to(monkeypatch, HOME, front.url)
    for_a_moment(TRANSIENT[shape], front)

    assert watch()["pending"] == []


@pytest.mark.parametrize("shape", TRANSIENT)
def test_a_home_region_that_fails_is_one_clear_refusal(
    shape: str, stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    before = everything(stack, *REGIONS)
    leads_to(monkeypatch, HOME, front.url)
    always(TRANSIENT[shape], front)

    with pytest.raises(CoordinatorError) as refused:
        watch()

    assert re.fullmatch(r"us-east-1: the home region's tables can't be used: .*Deploy again when.*", str(refused.value))
    assert everything(stack, *REGIONS) == before


@pytest.mark.parametrize("shape", [*OUTAGES, *THROTTLES])
def test_a_region_that_fails_for_a_moment_is_not_away(
    shape: str, stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    event = deployment(HOME, EU, US)
    leads_to(monkeypatch, EU, front.url)
    for_a_moment(TRANSIENT[shape], front, times=2)

    assert send(event)["pending"] == []


def test_a_region_with_another_certificate_is_pending(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    with FaultyServer(tls=certified(trustme.CA(), "127.0.0.1")) as stranger:
        leads_to(monkeypatch, EU, stranger.url)
        assert watch()["pending"] == [EU]


def test_a_region_without_an_address_is_pending(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    real = socket.getaddrinfo

    def unknown(host: Any, *more: Any, **options: Any) -> Any:
        if host == "dynamodb.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *more, **options)

    laid_out()
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    leads_to(monkeypatch, EU, "http://dynamodb.invalid")
    assert watch()["pending"] == [EU]


def throttles(counter: str, answer: bytes, front: Front, *operations: str) -> None:
    """Throttle these operations on one counter's item."""

    def throttle(operation: str, request: dict[str, Any]) -> bytes | None:
        key = request.get("Key") or request.get("Item") or {}
        return answer if operation in operations and key.get("counter") == {"S": counter} else None

    front.answer = throttle


@pytest.mark.parametrize("operations", [["updateitem"], ["updateitem", "putitem", "getitem"]])
@pytest.mark.parametrize("shape", THROTTLES)
def test_a_throttled_item_is_pending_and_no_other_counter_jumps(
    shape: str, operations: list[str], stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(counters=COUNTERS)
    event = deployment(HOME, EU, US, counters=COUNTERS)
    leads_to(monkeypatch, EU, front.url)
    throttles("busy", THROTTLES[shape], front, *operations)

    reply = send(event)

    assert {name: found["pending"] for name, found in reply["counters"].items()} == {
        "integers": [],
        "busy": [EU],
        "invoices": [],
    }
    bases = {name: found["base"] for name, found in reply["counters"].items()}
    assert (bases["integers"], bases["invoices"]) < (100_000, 100_000), "they were fenced"
    assert bases["busy"] > 100_000_000, "it couldn't be"
    front.answer = lambda _operation, _request: None
    assert watch()["pending"] == []


@pytest.mark.parametrize("operation", ["scan", "describetable"])
def test_a_throttled_table_keeps_no_other_region(
    operation: str, stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(counters=COUNTERS)
    event = deployment(HOME, EU, US, counters=COUNTERS)
    leads_to(monkeypatch, EU, front.url)
    answer = THROTTLES["ThrottlingException"]
    front.answer = lambda asked, _: answer if asked == operation else None

    reply = send(event)

    assert reply["pending"] == ([] if operation == "scan" else [EU])
    assert {found["epoch"] for found in reply["counters"].values()} == {2}
    assert [item.epoch for item in items(stack, HOME, US) if item] == [2, 2]
    if operation == "scan":
        assert max(found["base"] for found in reply["counters"].values()) < 100_000, "the items were fenced"


def test_what_dynamodb_rejects_for_one_counter_refuses_that_one(
    stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(counters=COUNTERS)
    event = deployment(HOME, EU, US, counters=COUNTERS)
    leads_to(monkeypatch, EU, front.url)
    throttles("busy", error("ValidationException", message="not valid"), front, "updateitem")

    with pytest.raises(CoordinatorError) as refused:
        send(event)

    assert re.fullmatch("eu-west-1: DynamoDB refused a call: .*ValidationException.*not valid.*", str(refused.value))
    standing = {name: register(stack, name) for name in COUNTERS}
    assert {name: found.epoch for name, found in standing.items() if found} == {"integers": 2, "busy": 1, "invoices": 2}


def test_a_scan_that_dynamodb_rejects_is_a_bug(stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    leads_to(monkeypatch, EU, front.url)
    always(error("ValidationException", message="not valid"), front)

    with pytest.raises(CoordinatorError, match=r"^eu-west-1: DynamoDB refused a call: .*ValidationException.*Scan"):
        watch()


def test_an_answer_of_nothing_is_not_taken_for_no_item(
    stack: Stack, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore takes any 200 for an answer: a write that wasn't made would seem to be, and an item to be missing."""
    laid_out()
    event = deployment(HOME, EU, US)
    standing = register(stack)
    assert standing is not None
    leads_to(monkeypatch, EU, front.url)
    garbled = OUTAGES["200 without a body"]
    front.answer = lambda operation, _: garbled if operation in ("updateitem", "getitem") else None

    reply = send(event)["counters"]["integers"]

    assert reply["base"] > standing.limit, "the region wasn't fenced, and mints up to the limit"
    assert reply["pending"] == [EU]
    assert deploy(HOME, EU, US) == {**reply, **deploy(HOME, EU, US)}
