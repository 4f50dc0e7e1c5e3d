"""DynamoDB in memory evaluates expressions, and refuses requests, as DynamoDB does."""

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
from tests.proof.simulation.random_calls import ITEMS, TABLE, calls

REGION = "eu-west-1"
KEY, LARGE = {"counter": {"S": "c"}}, {"counter": {"S": "large"}}
ITEM: Item = {
    **KEY,
    "n": {"N": "5"},
    "m": {"N": "1"},
    "s": {"S": "abc"},
    "t": {"BOOL": True},
    "l": {"L": [{"N": "1"}, {"S": "x"}]},
}


@pytest.fixture
def database() -> Database:
    database = Database()
    database.create(REGION, TABLE).items["c"] = ITEM
    return database


@pytest.fixture
def client(database: Database) -> DynamoDB:
    return database.client(REGION)


def write(client: DynamoDB, **request: Any) -> dict[str, Any]:
    """Update the item, with values like `v={"N": "1"}` for `:v`. All names may be used as `#name`."""
    values = {f":{name}": request.pop(name) for name in [*request] if name.islower()}
    texts = " ".join(text for name, text in request.items() if name.endswith("Expression"))
    names = {f"#{name}": name for name in (*ITEM, "absent") if f"#{name}" in texts}
    more = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    request |= {name: found for name, found in more.items() if found}
    return client.call("UpdateItem", {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_NEW", **request})


def expressed(text: str) -> dict[str, str]:
    """Return a condition, which begins with `if`, or an update."""
    return {"ConditionExpression" if text.startswith("if") else "UpdateExpression": text.removeprefix("if")}


def refused(code: str = "ValidationException", message: str = "") -> Any:
    """Expect an error of DynamoDB."""
    return pytest.raises(ServiceError, match=f"{code}.*{message}")


ONE, FIVE, TEN = ({"N": number} for number in ("1", "5", "10"))


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("n = :v", FIVE, True),
        ("n <> :v", {"S": "5"}, True),
        ("n < :v", TEN, True),
        ("n < :v", {"S": "9"}, False),
        ("s >= :v", {"S": "ab"}, True),
        ("absent = :v", FIVE, False),
        ("absent <> :v", FIVE, True),
        ("absent < :v OR absent >= :v", FIVE, False),
        ("m < n AND NOT n < m", None, True),
        ("n = :v OR n = :v AND m = :v", FIVE, True),
        ("(n = :v OR m = :v) AND m = :v", FIVE, False),
        ("attribute_exists(#counter) AND attribute_not_exists(absent)", None, True),
        ("attribute_type(n, :v)", {"S": "N"}, True),
        ("l = :v", {"L": [ONE, {"S": "x"}]}, True),
    ],
)
def test_a_condition_holds_or_fails(client: DynamoDB, condition: str, value: Any, holds: bool) -> None:
    call = {"ConditionExpression": condition, "UpdateExpression": "SET x = n"} | ({"v": value} if value else {})

    if holds:
        assert write(client, **call) == {"Attributes": ITEM | {"x": FIVE}}
    else:
        with refused("ConditionalCheckFailedException"):
            write(client, **call)


def test_an_update_reads_every_value_before_it_sets_any(client: DynamoDB) -> None:
    after = write(client, UpdateExpression="set n = n - m, m = n, absent = s remove l, t")
    assert after["Attributes"] == {**KEY, "n": {"N": "4"}, "m": FIVE, "s": {"S": "abc"}, "absent": {"S": "abc"}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("SET n = :v, n = :v", ONE),
        ("SET n = :v REMOVE #n", ONE),
        ("SET n = :v SET m = :v", ONE),
        ("SET #counter = :v", {"S": "d"}),
        ("SET n = absent", None),
        ("SET n = n + absent", None),
        ("SET n = n + s", None),
        ("SET n = n + :v", {"S": "1"}),
        ("SET n = n + :v", {"N": "9" * 38}),
        ("SET n = :v", {"N": "one"}),
        ("SET n = :v", {"N": "1", "S": "1"}),
        ("SET n = :v", {"BOOL": "true"}),
        ("SET n = :v", {"S": "x" * 409_600}),
        ("SET n = :v", None),
        ("SET n = n", ONE),
        ("SET n = #other", None),
        ("SET token = n", None),
        ("if n = n", None),
        ("if n < :v", {"BOOL": True}),
        ("if attribute_not_exists(n) OR attribute_type(s, :v)", ONE),
        ("if attribute_exists(:v)", ONE),
        ("if attribute_type(n, :v)", {"S": "number"}),
    ],
)
def test_what_dynamodb_refuses_changes_nothing(
    client: DynamoDB, database: Database, expression: str, value: Any
) -> None:
    with refused():
        write(client, **expressed(expression), **({"v": value} if value else {}))
    assert database.tables[REGION, TABLE].items == {"c": ITEM}


@pytest.mark.parametrize(
    "expression",
    [
        "SET n.x = n", "SET l[0] = n", "SET n = n + n + n", "SET n = list_append(l, l)", "SET n == m", "SET", "n = m",
        "SET n = size(s)", "ADD n :v",
        "DELETE n :v", "SET n = m, REMOVE m", "if", "if n", "if n = m s = m", "if n = m OR", "if (n = m",
        "if ((n = m))", "if n.x = m", "if n == m", "if n = m = n", "if NOT", "if n IN m", "if foo(n)", "if Lt(n, m)",
        "if attribute_exists(n, m)", "if n + m = m", "if n BETWEEN m AND m", "if n IN (m)",
        "if contains(n, m)", "if size(n) = m", "if (n = m)(m = n)", "if n = \"x\"", "if n = 5", "if n = m # s",
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_ignored(client: DynamoDB, expression: str) -> None:
    with pytest.raises(NotImplementedError, match="Expression: "):
        write(client, **expressed(expression))


@pytest.mark.parametrize("value", [{"N": "1.5"}, {"N": "1e2"}, {"N": "9" * 39}, {"M": {}}, {"SS": ["a"]}, {"B": ""}])
def test_a_value_that_no_function_writes_is_not_ignored(client: DynamoDB, value: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match="a value that no function writes"):
        write(client, UpdateExpression="SET n = :v", v=value)


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


def test_a_scan_has_pages_that_go_on_where_the_last_one_ended(database: Database, client: DynamoDB) -> None:
    items = database.tables[REGION, TABLE].items
    items |= {f"c{n}": {"counter": {"S": f"c{n}"}, "n": {"N": str(n)}} for n in range(6)}
    request: dict[str, Any] = {
        "TableName": TABLE,
        "Limit": 3,
        "ProjectionExpression": "#counter",
        "FilterExpression": "n <> :v",
        "ExpressionAttributeNames": {"#counter": "counter"},
        "ExpressionAttributeValues": {":v": {"N": "4"}},
    }
    first = client.call("Scan", request)
    assert (first["ScannedCount"], first["Count"]) == (3, len(first["Items"]))
    items.pop(first["LastEvaluatedKey"]["counter"]["S"])
    second = client.call("Scan", request | {"ExclusiveStartKey": first["LastEvaluatedKey"]})
    last = client.call("Scan", request | {"ExclusiveStartKey": second["LastEvaluatedKey"], "Limit": 2})
    found = [item["counter"]["S"] for page in (first, second, last) for item in page["Items"]]
    assert sorted(found) == ["c", "c0", "c1", "c2", "c3", "c5"]
    assert (last["ScannedCount"], "LastEvaluatedKey" in last) == (1, False)


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
