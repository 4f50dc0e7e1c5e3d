"""DynamoDB in memory evaluates expressions, and refuses requests, as DynamoDB does."""

import json
from contextlib import nullcontext, suppress
from fractions import Fraction
from typing import Any, cast

import pytest
from aws_client.service import DynamoDB, ServiceError
from coordinate.dynamodb.run_lock import RunLock
from coordinate.dynamodb.store import described_id, replacement
from coordinate.protocol.model import Admitted, Claim
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mint.counters import list_counters
from mint.grants import _may_ask
from mint.model import Block, CeilingReached, NoItem
from mint.receipts import Receipts
from mint.table import CounterTable

from global_integers_core.names import CHECK_COUNTER, DELETED
from global_integers_core.records import Recorded
from local.aws_clients import Aws
from proof.simulation.dynamodb import Condition, Database
from proof.simulation.expressions import Item
from tests.lambda_.coordinator_calls import make_table
from tests.proof.simulation.random_calls import ITEMS, TABLE, calls

REGION = "eu-west-1"
KEY = {"counter": {"S": "c"}}
ITEM: Item = {
    **KEY,
    "n": {"N": "5"},
    "m": {"N": "1"},
    "s": {"S": "abc"},
    "t": {"BOOL": True},
    "l": {"L": [{"N": "1"}, {"S": "x"}]},
}
NINES = "9" * 38


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


def refused(code: str = "ValidationException", message: str = "") -> Any:
    """Expect an error of DynamoDB."""
    return pytest.raises(ServiceError, match=f"{code}.*{message}")


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        ("n = :v", {"v": {"N": "5"}}, True),
        ("n <> :v", {"v": {"S": "5"}}, True),
        ("n < :v", {"v": {"N": "10"}}, True),
        ("n < :v", {"v": {"S": "9"}}, False),
        ("s >= :v", {"v": {"S": "ab"}}, True),
        ("absent = :v", {"v": {"N": "5"}}, False),
        ("absent <> :v", {"v": {"N": "5"}}, True),
        ("absent < :v OR absent >= :v", {"v": {"N": "5"}}, False),
        ("m < n AND NOT n < m", {}, True),
        ("n = :v OR n = :v AND m = :v", {"v": {"N": "5"}}, True),
        ("(n = :v OR m = :v) AND m = :v", {"v": {"N": "5"}}, False),
        ("attribute_exists(#counter) AND attribute_not_exists(absent)", {}, True),
        ("attribute_type(n, :v)", {"v": {"S": "N"}}, True),
        ("l = :v", {"v": {"L": [{"N": "1"}, {"S": "x"}]}}, True),
    ],
)
def test_a_condition_holds_or_fails(client: DynamoDB, condition: str, values: Item, holds: bool) -> None:
    call = {"ConditionExpression": condition, "UpdateExpression": "SET x = n", **values}

    if holds:
        assert write(client, **call) == {"Attributes": ITEM | {"x": ITEM["n"]}}
    else:
        with refused("ConditionalCheckFailedException"):
            write(client, **call)


@pytest.mark.parametrize(
    ("update", "values", "changed"),
    [
        ("SET n = n + :v", {"v": {"N": "-7"}}, {"n": {"N": "-2"}}),
        ("SET n = n - m, m = n", {}, {"n": {"N": "4"}, "m": {"N": "5"}}),
        ("set n = n + m, absent = s remove l, t", {}, {"n": {"N": "6"}, "absent": {"S": "abc"}, "l": {}, "t": {}}),
    ],
)
def test_an_update_reads_every_value_before_it_sets_any(
    client: DynamoDB, update: str, values: Item, changed: Item
) -> None:
    after = {name: value for name, value in (ITEM | changed).items() if value}
    assert write(client, UpdateExpression=update, **values) == {"Attributes": after}


@pytest.mark.parametrize(
    ("expressions", "values"),
    [
        ("SET n = :v, n = :v", {"v": {"N": "1"}}),
        ("SET n = :v REMOVE #n", {"v": {"N": "1"}}),
        ("SET n = :v SET m = :v", {"v": {"N": "1"}}),
        ("SET #counter = :v", {"v": {"S": "d"}}),
        ("SET n = absent", {}),
        ("SET n = n + absent", {}),
        ("SET n = n + s", {}),
        ("SET n = n + :v", {"v": {"S": "1"}}),
        ("SET n = :v", {"v": {"N": "one"}}),
        ("SET n = :v", {"v": {"N": "1", "S": "1"}}),
        ("SET n = :v", {"v": {"BOOL": "true"}}),
        ("SET n = :v", {"v": {"S": "x" * 409_600}}),
        ("SET n = :v", {}),
        ("SET n = n", {"v": {"N": "1"}}),
        ("SET n = #other", {}),
        ("SET token = n", {}),
        ("if n = n", {}),
        ("if n < :v", {"v": {"BOOL": True}}),
        ("if attribute_not_exists(n) OR attribute_type(s, :v)", {"v": {"N": "1"}}),
        ("if attribute_exists(:v)", {"v": {"N": "1"}}),
        ("if attribute_type(n, :v)", {"v": {"S": "number"}}),
    ],
)
def test_what_dynamodb_refuses_changes_nothing(
    client: DynamoDB, database: Database, expressions: str, values: Item
) -> None:
    name = "ConditionExpression" if expressions.startswith("if ") else "UpdateExpression"
    with refused():
        write(client, **{name: expressions.removeprefix("if ")}, **values)
    assert database.tables[REGION, TABLE].items == {"c": ITEM}


@pytest.mark.parametrize(
    "expressions",
    [
        "SET n.x = n", "SET l[0] = n", "SET n = n + n + n", "SET n = list_append(l, l)", "SET n == m", "SET", "n = m",
        "SET n = size(s)", "ADD n :v",
        "DELETE n :v", "SET n = m, REMOVE m", "if", "if n", "if n = m s = m", "if n = m OR", "if (n = m",
        "if ((n = m))", "if n.x = m", "if n == m", "if n = m = n", "if NOT", "if n IN m", "if foo(n)", "if Lt(n, m)",
        "if attribute_exists(n, m)", "if n + m = m", "if n BETWEEN m AND m", "if n IN (m)",
        "if contains(n, m)", "if size(n) = m", "if (n = m)(m = n)", "if n = \"x\"", "if n = 5", "if n = m # s",
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_ignored(client: DynamoDB, expressions: str) -> None:
    name = "ConditionExpression" if expressions.startswith("if") else "UpdateExpression"
    with pytest.raises(NotImplementedError, match="Expression: "):
        write(client, **{name: expressions.removeprefix("if")})


@pytest.mark.parametrize("value", [{"N": "1.5"}, {"N": "1e2"}, {"N": "9" * 39}, {"M": {}}, {"SS": ["a"]}, {"B": ""}])
def test_a_value_that_no_function_writes_is_not_ignored(client: DynamoDB, value: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match="a value that no function writes"):
        write(client, UpdateExpression="SET n = :v", v=value)


def test_a_number_has_38_significant_digits(client: DynamoDB) -> None:
    with refused():
        write(client, UpdateExpression="SET n = n + :v", v={"N": NINES})


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


def test_a_failed_condition_returns_the_item_if_it_is_asked_for(client: DynamoDB) -> None:
    request: Any = {"TableName": TABLE, "Key": KEY, "ConditionExpression": "attribute_not_exists(n)"}
    for asked, item in (("ALL_OLD", ITEM), ("NONE", None)):
        with refused("ConditionalCheckFailedException") as failed:
            client.call("DeleteItem", request | {"ReturnValuesOnConditionCheckFailure": asked})
        assert (failed.value.status, failed.value.item, failed.value.meaning) == (400, item, "condition")


def test_items_are_put_read_and_deleted(client: DynamoDB) -> None:
    put: Any = {"TableName": TABLE, "Item": {**KEY, "n": {"N": "7"}}, "ReturnValues": "ALL_OLD"}
    assert client.call("PutItem", put) == {"Attributes": ITEM}
    read: Any = {"TableName": TABLE, "Key": KEY, "ProjectionExpression": "n, s"}
    assert client.call("GetItem", json.dumps(read).encode()) == {"Item": {"n": {"N": "7"}}}
    assert client.call("DeleteItem", {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_OLD"})["Attributes"]
    assert client.call("GetItem", {"TableName": TABLE, "Key": KEY}) == {}
    updated = {"TableName": TABLE, "Key": KEY, "UpdateExpression": "SET n = :v", "ReturnValues": "ALL_NEW"}
    made = client.call("UpdateItem", updated | {"ExpressionAttributeValues": {":v": {"N": "1"}}})
    assert made == {"Attributes": {**KEY, "n": {"N": "1"}}}


@pytest.mark.parametrize("item", [{}, {"counter": {"S": ""}}, {"counter": {"N": "1"}}, {"counter": {"S": "c" * 2049}}])
def test_every_item_has_a_key(client: DynamoDB, item: Item) -> None:
    for operation, name in (("PutItem", "Item"), ("GetItem", "Key")):
        with refused(message="key element"):
            client.call(operation, {"TableName": TABLE, name: item})


def test_a_table_belongs_to_a_region_and_has_an_id_of_its_own(database: Database, client: DynamoDB) -> None:
    other = database.client("us-east-1")
    for gone in (lambda: other.call("GetItem", {"TableName": TABLE, "Key": KEY}), lambda: described_id(other, TABLE)):
        with refused("ResourceNotFoundException") as failed:
            gone()
        assert failed.value.meaning == "gone"
    database.create("us-east-1", TABLE, stream="2026-01-01")
    assert other.call("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamLabel"] == "2026-01-01"

    before = described_id(client, TABLE)
    database.create(REGION, TABLE)

    assert len({before, described_id(client, TABLE), described_id(other, TABLE)}) == 3
    assert client.call("GetItem", {"TableName": TABLE, "Key": KEY}) == {}


def test_what_a_table_has_is_put_back(database: Database, client: DynamoDB) -> None:
    table = database.tables[REGION, TABLE]
    snapshot = table.items.copy()
    write(client, UpdateExpression="SET n = :v", v={"N": "6"})
    assert table.items["c"]["n"] == {"N": "6"}
    table.items = snapshot.copy()
    assert client.call("GetItem", {"TableName": TABLE, "Key": KEY}) == {"Item": ITEM}


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


def test_a_transaction_writes_all_or_nothing(database: Database, client: DynamoDB) -> None:
    table = database.tables[REGION, TABLE]
    put, increment = part("Put", "new"), part("Update", "c", UpdateExpression="SET n = n + m")
    fails = part("ConditionCheck", "absent", ConditionExpression="attribute_exists(n)")
    with refused("TransactionCanceledException", r"\[None, None, ConditionalCheckFailed\]") as failed:
        client.call("TransactWriteItems", {"TransactItems": [put, increment, fails]})
    assert (failed.value.reasons, failed.value.meaning) == (["None", "None", "ConditionalCheckFailed"], "condition")
    with refused("TransactionCanceledException", r"\[None, ValidationError\]"):
        client.call(
            "TransactWriteItems", {"TransactItems": [put, part("Update", "c", UpdateExpression="SET n = s + n")]}
        )
    with refused(message="on one item"):
        client.call("TransactWriteItems", {"TransactItems": [increment, part("Delete", "c")]})
    assert table.items == {"c": ITEM}

    holds = part("ConditionCheck", "absent", ConditionExpression="attribute_not_exists(n)")
    assert client.call("TransactWriteItems", {"TransactItems": [put, increment, holds]}) == {}
    assert table.items == {"c": ITEM | {"n": {"N": "6"}}, "new": {"counter": {"S": "new"}}}


def test_a_repeated_transaction_is_known_by_its_token(database: Database, client: DynamoDB) -> None:
    items = [part("Update", "c", UpdateExpression="SET n = n + m", ConditionExpression="n < l")]
    request: dict[str, Any] = {"TransactItems": items, "ClientRequestToken": "token"}
    with refused("TransactionCanceledException"):
        client.call("TransactWriteItems", request)
    del items[0]["Update"]["ConditionExpression"]
    for _ in range(2):
        assert client.call("TransactWriteItems", request) == {}
    assert database.tables[REGION, TABLE].items["c"]["n"] == {"N": "6"}

    with refused("IdempotentParameterMismatchException"):
        client.call("TransactWriteItems", request | {"TransactItems": [part("Delete", "c")]})


def test_one_condition_can_be_taken_out(database: Database, client: DynamoDB) -> None:
    table, tests = database.tables[REGION, TABLE], ("n > :v", "attribute_exists(absent)")
    call: Any = {"UpdateExpression": "SET n = n + n", "ConditionExpression": " AND ".join(tests)}
    database.label = "double"
    for without, value, written in (
        (None, "1", False),
        (tests[0], "1", False),
        (tests[1], "9", False),
        (tests[1], "1", True),
    ):
        database.without = frozenset({Condition("double", without)} if without else ())
        with nullcontext() if written else refused("ConditionalCheckFailed"):
            write(client, **call, v={"N": value})
        assert (table.items["c"] != ITEM) == written
    assert [str(condition) for condition in database.conditions()] == [f"double: {test}" for test in sorted(tests)]


def test_what_a_replacement_compares_is_one_condition(database: Database, client: DynamoDB) -> None:
    put = {"Put": replacement(TABLE, Admitted("id", "a"), Claim("r", token="b"))}
    fails = part("ConditionCheck", "c2", ConditionExpression="#n = :n", ExpressionAttributeNames={"#n": "n"})
    fails["ConditionCheck"]["ExpressionAttributeValues"] = {":n": {"N": "1"}}
    both = [Condition(f"ConditionCheck {TABLE} check of {TABLE}", "unchanged"), Condition(f"Put {TABLE}", "unchanged")]
    for without, reasons in zip((None, *both), ("CC", "C-", "-C"), strict=True):
        database.without = frozenset({without} if without else ())
        with refused("TransactionCanceled") as failed:
            client.call("TransactWriteItems", {"TransactItems": [put, fails]})
        assert [reason == "ConditionalCheckFailed" for reason in failed.value.reasons] == [
            sign == "C" for sign in reasons
        ]
    assert database.conditions() == both


def test_every_call_of_the_minting_function_is_known(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.create(REGION, "receipts", "receipt")
    item = {"issued": {"N": "1"}, "stride": {"N": "2"}, "ceiling": {"N": "13"}, "epoch": {"N": "1"}}
    database.create(REGION, "counters").items |= {
        "c": KEY | item,
        CHECK_COUNTER: {"counter": {"S": CHECK_COUNTER}},
        "d": KEY | item | {"held": {"S": DELETED}},
    }
    monkeypatch.setenv("RECEIPTS_TABLE", "receipts")
    monkeypatch.setenv("COORDINATOR", "an ARN")
    monkeypatch.setenv("OPEN_COUNTERS", "1")
    client = database.client(REGION)
    table = CounterTable("counters", client, "receipts")

    assert [table.mint("c").first, *table.mint_block("c", 2).integers()] == [3, 5, 7]
    assert (table.item("c").issued, table.recorded("c")) == (7, Recorded())
    with pytest.raises(CeilingReached):
        table.mint_block("c", 4)
    with pytest.raises(NoItem):
        table.mint("x")
    assert list_counters(table, 5, None) == ({"counters": ["c"]})
    receipts, block = Receipts("receipts", 60, client), Block(3, 2, 1)
    assert [receipts.keep("r", block), receipts.keep("r", block._replace(first=9))] == [(block, False), (block, True)]
    assert receipts.find("r", 1) == block
    assert [_may_ask(client, "receipts", "/asked", "/asked/c", 1_795_000_000, 1) for _ in range(2)] == [True, False]
    lock = RunLock(client, "counters", "run 1")
    assert [lock.take(), RunLock(client, "counters", "run 2").take(), lock.still_held()] == [True, False, True]
    lock.give_back()
    assert RunLock(client, "counters", "run 2").take()


@pytest.mark.parametrize(
    ("operation", "request_", "reads", "writes"),
    [
        ("GetItem", {"Key": KEY}, 0.5, 0),
        ("GetItem", {"Key": {"counter": {"S": "large"}}, "ConsistentRead": True}, 3, 0),
        ("Scan", {}, 1.5, 0),
        ("PutItem", {"Item": KEY}, 0, 1),
        ("PutItem", {"Item": {"counter": {"S": "large"}}}, 0, 10),
        ("DeleteItem", {"Key": {"counter": {"S": "large"}}, "ConditionExpression": "attribute_exists(n)"}, 0, 10),
    ],
)
def test_units_are_counted_by_size(
    database: Database, operation: str, request_: dict[str, Any], reads: float, writes: int
) -> None:
    database.tables[REGION, TABLE].items["large"] = {"counter": {"S": "large"}, "s": {"S": "x" * 10_000}}
    database.metered = True
    with suppress(ServiceError):
        database.call(REGION, operation, {"TableName": TABLE, **request_})
    assert (database.reads, database.writes) == (reads, writes)


def test_a_transaction_takes_twice_the_units(database: Database, client: DynamoDB) -> None:
    database.metered = True
    check = part("ConditionCheck", "d", ConditionExpression="attribute_not_exists(n)")
    client.call("TransactWriteItems", {"TransactItems": [part("Put", "c"), check]})
    assert database.writes == 4


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

    @settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
    @given(ITEMS, st.lists(calls(), min_size=1, max_size=6))
    def same(item: Item, taken: list[tuple[str, dict[str, Any]]]) -> None:
        begin = [("DeleteItem", {"TableName": TABLE, "Key": {"counter": {"S": "d"}}})]
        for operation, request in [*begin, ("PutItem", {"TableName": TABLE, "Item": item}), *taken]:
            expected = answered(local, operation, request)
            assert answered(memory.client(REGION), operation, request) == expected, (operation, request)
        scan = {"TableName": TABLE}
        assert answered(memory.client(REGION), "Scan", scan) == answered(local, "Scan", scan)

    same()
