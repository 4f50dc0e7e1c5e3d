"""The proxy, between the minting function's own client and the local AWS server."""

import http.client
import json
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.service import DynamoDB, ServiceError
from coordinate.dynamodb.encoding import item_values
from coordinate.protocol.model import Item
from mint.table import CounterTable

from local.aws_clients import Aws
from proof.chaos.proxy import BY_CHANCE, Proxy, hot, outage, slow, unreachable
from proof.chaos.stack import wait_until
from proof.faulty_server import Fault, Request, Response, Server, json_response
from tests.lambda_.coordinator_calls import make_table
from tests.local.machine import HANGING

REGION, OTHER = "eu-west-1", "us-east-1"


@pytest.fixture
def proxy(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Proxy]:
    """A proxy without faults, which DynamoDB's clients use."""
    with Proxy(Random(0), ()) as proxy:
        proxy.server = aws.endpoint
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        yield proxy


@pytest.fixture
def table(aws: Aws) -> Callable[[str], str]:
    """Make a counters table in a region, with the counter `orders` at 1, stride 3."""

    def make(region: str) -> str:
        name = f"chaos-{uuid.uuid4().hex}-counters"
        make_table(aws, region, name)
        item = {"counter": {"S": "orders"}, **item_values(Item(1, 3, 3001, 1))}
        aws.client("dynamodb", region).put_item(TableName=name, Item=item)
        return name

    return make


def issued(aws: Aws, region: str, table: str) -> int:
    answer: Any = aws.client("dynamodb", region).get_item(TableName=table, Key={"counter": {"S": "orders"}})
    return int(answer["Item"]["issued"]["N"])


def always(name: str) -> Fault:
    """What else happens by chance."""
    return replace(BY_CHANCE[name], share=1)


def increment(table: str) -> dict[str, object]:
    return {
        "TableName": table,
        "Key": {"counter": {"S": "orders"}},
        "UpdateExpression": "SET issued = issued + stride",
        "ReturnValues": "ALL_NEW",
    }


def signed(operation: str) -> dict[str, str]:
    """The headers of a call to the region's DynamoDB."""
    scope = f"AWS4-HMAC-SHA256 Credential=key/20260101/{REGION}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
    return {"Authorization": scope, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}


def test_it_passes_calls_on_and_records_what_was_minted(proxy: Proxy, table: Callable[[str], str]) -> None:
    counters = CounterTable(table(REGION), DynamoDB(REGION))

    assert list(counters.mint("orders").integers()) == [4]
    assert list(counters.mint_block("orders", 3).integers()) == [7, 10, 13]

    assert [(write.region, write.counter, list(write.integers)) for write in proxy.writes] == [
        (REGION, "orders", [4]),
        (REGION, "orders", [7, 10, 13]),
    ]
    assert all(write.began < write.ended for write in proxy.writes)


def test_a_cut_call_is_carried_out_without_an_answer(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    name = table(REGION)
    proxy.faults.append(always("cuts"))

    with pytest.raises(NoResponse):
        DynamoDB(REGION).call("UpdateItem", increment(name))

    assert issued(aws, REGION, name) == 10  # three attempts, each carried out
    assert [list(write.integers) for write in proxy.writes] == [[4], [7], [10]]
    assert proxy.injected == {"cut before the answer": 3}


def test_a_throttled_call_is_not_carried_out(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    name = table(REGION)
    proxy.faults.append(always("throttles"))

    with pytest.raises(ServiceError, match="ProvisionedThroughputExceeded") as refused:
        DynamoDB(REGION).call("UpdateItem", increment(name))

    assert refused.value.meaning == "throttled"
    assert issued(aws, REGION, name) == 1
    assert proxy.writes == []


def test_a_delayed_call_is_carried_out(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    name = table(REGION)
    proxy.faults.append(always("delays"))

    with suppress(NoResponse):  # it may be delayed for longer than its caller waits
        DynamoDB(REGION).call("UpdateItem", increment(name))

    attempts = proxy.injected["delayed"]
    assert attempts >= 1
    assert wait_until(lambda: issued(aws, REGION, name) == 1 + 3 * attempts, HANGING)


@pytest.mark.parametrize("silent", [True, False])
def test_only_the_region_that_is_cut_off_is_unreachable(
    proxy: Proxy, table: Callable[[str], str], aws: Aws, silent: bool
) -> None:
    cut_off, there = table(REGION), table(OTHER)

    with proxy.failing(*unreachable(REGION, silent=silent)):
        assert proxy.without_answers == {REGION}
        with pytest.raises(NoResponse, match="timed out" if silent else "closed|reset"):
            DynamoDB(REGION).call("UpdateItem", increment(cut_off))
        DynamoDB(OTHER).call("UpdateItem", increment(there))

    assert issued(aws, REGION, cut_off) == 1
    assert issued(aws, OTHER, there) == 4
    DynamoDB(REGION).call("UpdateItem", increment(cut_off))
    assert issued(aws, REGION, cut_off) == 4


def test_no_answer_leaves_a_region_that_was_cut_off_meanwhile(
    proxy: Proxy, table: Callable[[str], str], aws: Aws
) -> None:
    name = table(REGION)
    proxy.faults.append(Fault(notify=lambda: proxy.faults.extend(unreachable(REGION, silent=False))))

    with pytest.raises(NoResponse):
        DynamoDB(REGION).call("UpdateItem", increment(name))

    assert issued(aws, REGION, name) == 4
    assert proxy.injected == {"unreachable": 2, "cut before the answer": 1}


def fence(table: str, counter: str = "orders") -> dict[str, object]:
    return {
        "TableName": table,
        "Key": {"counter": {"S": counter}},
        "UpdateExpression": "SET ceiling = :ceiling",
        "ExpressionAttributeValues": {":ceiling": {"N": "301"}},
    }


def test_an_outage_answers_with_pages(proxy: Proxy) -> None:
    proxy.faults.append(outage(REGION))
    caller = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=HANGING)
    seen: set[tuple[int, bytes]] = set()

    for _ in range(30):  # the connection stays
        caller.request("POST", "/", json.dumps(increment("x-counters")), signed("UpdateItem"))
        response = caller.getresponse()
        seen.add((response.status, response.read()))

    caller.close()
    assert seen == {(503, b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>"), (502, b""), (500, b"")}
    assert (proxy.injected, proxy.connections) == ({"answered with an error page": 30}, 1)


def test_only_the_region_with_the_outage_answers_with_pages(
    proxy: Proxy, table: Callable[[str], str], aws: Aws
) -> None:
    out, healthy = table(REGION), table(OTHER)

    with proxy.failing(outage(REGION)):
        assert proxy.without_answers == {REGION}
        with pytest.raises(ServiceError) as refused:
            DynamoDB(REGION).call("UpdateItem", increment(out))
        DynamoDB(OTHER).call("UpdateItem", increment(healthy))

    assert refused.value.transient
    assert (issued(aws, REGION, out), issued(aws, OTHER, healthy)) == (1, 4)
    DynamoDB(REGION).call("UpdateItem", increment(out))
    assert issued(aws, REGION, out) == 4


def test_a_hot_item_is_throttled_for_the_coordinator(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    struck, elsewhere = table(REGION), table(OTHER)
    proxy.faults.append(hot(REGION, "orders"))
    item: dict[str, Any] = {"stride": {"N": "3"}, "counter": {"S": "orders"}}
    errors: set[str] = set()

    for operation, write in [("UpdateItem", fence(struck)), ("PutItem", {"TableName": struck, "Item": item})] * 3:
        with pytest.raises(ServiceError) as refused:
            DynamoDB(REGION).call(operation, write)
        assert refused.value.meaning == "throttled"
        errors.add(refused.value.code)
    DynamoDB(REGION).call("UpdateItem", fence(struck, "invoices"))
    DynamoDB(OTHER).call("UpdateItem", fence(elsewhere))
    assert list(CounterTable(struck, DynamoDB(REGION)).mint("orders").integers()) == [4]

    assert errors == {"ProvisionedThroughputExceededException", "ThrottlingException"}


def test_only_the_coordinators_writes_are_slow(proxy: Proxy, table: Callable[[str], str]) -> None:
    far = table(REGION)
    proxy.faults.append(slow(REGION, 0.01))
    dynamodb = DynamoDB(REGION)

    dynamodb.call("UpdateItem", increment(far))
    dynamodb.call("GetItem", {"TableName": far, "Key": {"counter": {"S": "orders"}}})
    assert proxy.injected["delayed"] == 0
    dynamodb.call("UpdateItem", fence(far))

    assert proxy.injected["delayed"] == 1


def test_nothing_happens_by_chance_while_it_is_calm(proxy: Proxy, table: Callable[[str], str]) -> None:
    proxy.faults += [replace(fault, share=0.999) for fault in BY_CHANCE.values()]

    with proxy.calm():
        DynamoDB(REGION).call("UpdateItem", increment(table(REGION)))
    assert (proxy.injected, len(proxy.faults)) == ({}, 3)


def test_another_dynamodb_gets_the_calls_with_one_access_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def item(_: Request) -> bytes:
        return b'HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"Ite\r\n6\r\nm":{}}\r\n0\r\n\r\n'

    once = Fault(carried_out=True, edit=lambda response: response, end="close")
    with Server(item, [once]) as other, Proxy(Random(0), (), other.url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ASIAOFAROLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        client = DynamoDB(REGION)
        answer = client.call("GetItem", {"TableName": "t"})
        client.close()

    assert answer == {"Item": {}}
    (heard,) = other.requests
    assert "Credential=test/" in heard.headers["authorization"]
    assert heard.scope == (REGION, "dynamodb")


@pytest.mark.slow
@pytest.mark.parametrize(("request_of", "minted", "of_layouts"), [(increment, [[4]], False), (fence, [], True)])
def test_what_happens_after_its_caller_has_hung_up_is_recorded(
    request_of: Callable[[str], dict[str, object]], minted: list[list[int]], of_layouts: bool
) -> None:
    item = {"counter": {"S": "orders"}, "issued": {"N": "4"}, "stride": {"N": "3"}}
    held = Fault(hold=True)

    async def written(_: Request) -> Response:
        return json_response({"Attributes": item})

    with Server(written, [held]) as server, Proxy(Random(0), ()) as proxy:
        proxy.server, proxy.recording = server.url, True
        caller = http.client.HTTPConnection(proxy.url.removeprefix("http://"))
        caller.request("POST", "/", json.dumps(request_of("x-counters")), signed("UpdateItem"))
        server.until(lambda: bool(server.requests))
        (serving,) = proxy.requests
        caller.close()
        assert wait_until(serving.gone, HANGING)
        server.faults.remove(held)
        assert wait_until(lambda: bool(proxy.given_up), HANGING)

    assert [list(write.integers) for write in proxy.writes] == minted
    assert [(call.region, call.of_layouts) for call in proxy.given_up] == [(REGION, of_layouts)]
