"""DynamoDB in memory evaluates expressions, and refuses requests, as DynamoDB does."""

import re
import threading
from contextlib import suppress
from fractions import Fraction
from typing import Any, cast

import pytest
from aws_client.service import DynamoDB, ServiceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local.aws_clients import Aws
from proof.simulation.dynamodb import Database
from proof.simulation.expressions import Item
from tests.lambda_.coordinator_calls import make_table
from tests.proof.simulation.random_calls import ITEMS, KINDS, NAMES, TABLE, VALUES, calls

REGION = "eu-west-1"
KEY, LARGE = {"counter": {"S": "c"}}, {"counter": {"S": "large"}}
ITEM: Item = {
    **KEY,
    "n": {"N": "5"},
    "m": {"N": "1"},
    "s": {"S": "abc"},
    "t": {"BOOL": True},
    "l": {"L": [{"N": "1"}]},
}


@pytest.fixture
def database() -> Database:
    database = Database()
    database.create(REGION, TABLE).items["c"] = ITEM
    return database


@pytest.fixture
def client(database: Database) -> DynamoDB:
    return database.client(REGION)


WRONG: Item = {
    ":one": {"N": "one"},
    ":both": {"N": "1", "S": "1"},
    ":true": {"BOOL": "true"},
    ":long": {"S": "x" * 409_600},
    ":digits": {"N": "9" * 38},
}
"""Values that DynamoDB refuses, or what comes of adding something to the last one."""

UNKNOWN: Item = {":u0": {"N": "1.5"}, ":u1": {"N": "1e2"}, ":u2": {"M": {}}, ":u3": {"SS": ["a"]}}


def write(client: DynamoDB, text: str) -> dict[str, Any]:
    """Update the item by an expression; one that begins with `if` is a condition. Names and values are known ones."""
    condition = {"ConditionExpression": text.removeprefix("if")} if text.startswith("if") else {}
    request: dict[str, Any] = {"UpdateExpression": "SET x = n" if condition else text, **condition}
    words = {*re.findall(r"[#:]\w+", text)}
    for name, known in (("Names", NAMES), ("Values", VALUES | KINDS | WRONG | UNKNOWN)):
        if found := {word: known[word] for word in words & known.keys()}:
            request[f"ExpressionAttribute{name}"] = found
    return client.call("UpdateItem", {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_NEW", **request})


def refused(code: str = "ValidationException", message: str = "") -> Any:
    """Expect an error of DynamoDB."""
    return pytest.raises(ServiceError, match=f"{code}.*{message}")


@pytest.mark.parametrize(
    "condition",
    [
        "n = :n5", "n <> :s5", "n < :n70", "s >= :s2", "absent <> :n5", "m < n AND NOT n < m", "l = :l1",
        "n = :n5 OR n = :n5 AND m = :n5", "attribute_exists(#counter) AND attribute_not_exists(absent)",
        "attribute_type(n, :isN)",
    ],
)  # fmt: skip
def test_a_condition_holds(client: DynamoDB, condition: str) -> None:
    assert write(client, f"if {condition}") == {"Attributes": ITEM | {"x": ITEM["n"]}}


@pytest.mark.parametrize(
    "condition",
    ["n < :s5", "absent = :n5", "absent < :n5 OR absent >= :n5", "(n = :n5 OR m = :n5) AND m = :n5", "n = :s5"],
)
def test_a_condition_fails(client: DynamoDB, condition: str) -> None:
    with refused("ConditionalCheckFailedException"):
        write(client, f"if {condition}")


def test_an_update_reads_every_value_before_it_sets_any(client: DynamoDB) -> None:
    after = write(client, "set n = n - m, m = n, absent = s remove l, t")["Attributes"]
    assert after == {**KEY, "n": {"N": "4"}, "m": {"N": "5"}, "s": {"S": "abc"}, "absent": {"S": "abc"}}


@pytest.mark.parametrize(
    "expression",
    [
        "SET n = :n1, n = :n1", "SET n = :n1 REMOVE #n", "SET n = :n1 SET m = :n1", "SET #counter = :s1",
        "SET n = absent", "SET n = n + absent", "SET n = n + s", "SET n = n + :s5", "SET n = n + :digits",
        "SET n = :one", "SET n = :both", "SET n = :true", "SET n = :long", "SET n = :undefined", "SET n = #other",
        "SET token = n", "if n = n",
        "if n < :yes", "if attribute_not_exists(n) OR attribute_type(s, :n1)", "if attribute_exists(:n1)",
        "if attribute_type(n, :s3)",
    ],
)  # fmt: skip
def test_what_dynamodb_refuses_changes_nothing(client: DynamoDB, database: Database, expression: str) -> None:
    with refused():
        write(client, expression)
    assert database.tables[REGION, TABLE].items == {"c": ITEM}


@pytest.mark.parametrize(
    "expression",
    [
        "SET n.x = n", "SET l[0] = n", "SET n = n + n + n", "SET n = list_append(l, l)", "SET n == m", "SET", "n = m",
        "SET n = size(s)", "ADD n :v", "DELETE n :v", "SET n = m, REMOVE m", "if", "if n", "if n = m s = m",
        "if n = m OR", "if (n = m", "if ((n = m))", "if n.x = m", "if n == m", "if n = m = n", "if NOT", "if n IN m",
        "if foo(n)", "if Lt(n, m)", "if attribute_exists(n, m)", "if n + m = m", "if n BETWEEN m AND m", "if n IN (m)",
        "if contains(n, m)", "if size(n) = m", "if (n = m)(m = n)", "if n = \"x\"", "if n = 5", "if n = m # s",
        "if n:yesn = m",
        *(f"SET n = {value}" for value in UNKNOWN),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_ignored(client: DynamoDB, expression: str) -> None:
    with pytest.raises(NotImplementedError, match=r"Expression: |a value that no function writes"):
        write(client, expression)


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("UpdateItem", {"ReturnConsumedCapacity": "TOTAL"}),
        ("UpdateItem", {"ReturnValues": "UPDATED_OLD"}),
        ("PutItem", {}),
        ("GetItem", {"AttributesToGet": ["n"]}),
        ("Query", {}),
    ],
)
def test_no_operation_and_no_parameter_is_ignored(client: DynamoDB, operation: str, more: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match=operation):
        client.call(operation, {"TableName": TABLE, "Key": KEY, **more})


def test_a_page_of_a_scan_ends_after_a_megabyte(database: Database, client: DynamoDB) -> None:
    large = {str(n): {"counter": {"S": str(n)}, "s": {"S": "x" * 400_000}} for n in range(4)}
    database.tables[REGION, TABLE].items = large

    page = client.call("Scan", {"TableName": TABLE})

    assert page["Count"] == 3
    assert len(client.call("Scan", {"TableName": TABLE, "ExclusiveStartKey": page["LastEvaluatedKey"]})["Items"]) == 1


def part(kind: str, key: str, **more: Any) -> dict[str, Any]:
    what = {"Item": {"counter": {"S": key}}} if kind == "Put" else {"Key": {"counter": {"S": key}}}
    return {kind: {"TableName": TABLE, **what, **more}}


def test_a_transaction_writes_all_or_nothing_and_only_once(database: Database, client: DynamoDB) -> None:
    table = database.tables[REGION, TABLE]
    put, increment = part("Put", "new"), part("Update", "c", UpdateExpression="SET n = n + m")
    fails, holds = (
        part("ConditionCheck", "absent", ConditionExpression=f"attribute_{it}(n)") for it in ("exists", "not_exists")
    )
    for writes, said in (
        ([put, increment, fails], r"\[None, None, ConditionalCheckFailed\]"),
        ([put, part("Update", "c", UpdateExpression="SET n = s + n")], r"\[None, ValidationError\]"),
        ([increment, part("Delete", "c")], "on one item"),
    ):
        with refused("", said):
            client.call("TransactWriteItems", {"TransactItems": writes})
    assert table.items == {"c": ITEM}

    for _ in range(2):
        request = {"TransactItems": [put, increment, holds], "ClientRequestToken": "token"}
        assert client.call("TransactWriteItems", request) == {}
    assert table.items == {"c": ITEM | {"n": {"N": "6"}}, "new": {"counter": {"S": "new"}}}
    with refused("IdempotentParameterMismatchException"):
        client.call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": "token"})


@pytest.mark.parametrize(
    ("operation", "request_", "units"),
    [
        ("GetItem", {"Key": KEY}, (0.5, 0)),
        ("GetItem", {"Key": LARGE, "ConsistentRead": True}, (3, 0)),
        ("Scan", {}, (1.5, 0)),
        ("PutItem", {"Item": LARGE}, (0, 10)),
        ("DeleteItem", {"Key": LARGE, "ConditionExpression": "attribute_exists(n)"}, (0, 10)),
    ],
)
def test_units_are_counted_by_size(database: Database, operation: str, request_: Item, units: Any) -> None:
    database.tables[REGION, TABLE].items["large"] = {**LARGE, "s": {"S": "x" * 10_000}}
    database.metered = True
    with suppress(ServiceError):
        database.call(REGION, operation, {"TableName": TABLE, **request_})
    assert (database.reads, database.writes) == units


def answered(client: DynamoDB, operation: str, request: dict[str, Any]) -> Any:
    """Return the answer to a call, or its error, without what has no order."""
    try:
        answer = client.call(operation, request)
    except ServiceError as error:
        if "ValidationError" in error.reasons:  # DynamoDB Local cancels no transaction for this
            return "ValidationException", [], None
        return error.code, [*error.reasons], ordered(error.item)
    answer.pop("ConsumedCapacity", None)  # of DynamoDB Local, without being asked for
    return ordered(answer)


def ordered(found: Any) -> Any:
    """Return what was found with the elements of sets, and the items, in order."""
    if not isinstance(found, dict):
        return found
    document: dict[str, Any] = cast("dict[str, Any]", found)
    if "N" in document:  # DynamoDB Local doesn't shorten every number
        return Fraction(document["N"])
    if "Items" in document:
        return {**document, "Items": sorted(repr(ordered(item)) for item in document["Items"])}
    is_set = document.keys() <= {"SS", "NS"}
    return {name: sorted(value) if is_set else ordered(value) for name, value in sorted(document.items())}


@pytest.mark.long
@pytest.mark.needs("dynamodb-local")
def test_every_expression_means_what_it_does_in_dynamodb_local(
    dynamodb_local: str, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynamodb_local)
    make_table(Aws(dynamodb_local, ("AKID", "secret")), REGION, TABLE)
    local, memory = DynamoDB(REGION, timeout=60, connect_timeout=60), Database()
    memory.create(REGION, TABLE)

    @settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
    @given(ITEMS, st.lists(calls(), min_size=1, max_size=6))
    def same(item: Item, taken: list[tuple[str, dict[str, Any]]]) -> None:
        begin = [("DeleteItem", {"TableName": TABLE, "Key": {"counter": {"S": "d"}}})]
        for operation, request in [*begin, ("PutItem", {"TableName": TABLE, "Item": item}), *taken]:
            expected = answered(local, operation, request)
            assert answered(memory.client(REGION), operation, request) == expected, (operation, request)
        scan = {"TableName": TABLE}
        assert answered(memory.client(REGION), "Scan", scan) == answered(local, "Scan", scan)

    same()


def test_nothing_expires_by_the_clock_of_this_process() -> None:
    assert "dynamodb-ttl-reaper" not in {thread.name for thread in threading.enumerate()}
