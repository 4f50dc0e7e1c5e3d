"""The proxy, between the minting function's own client and the local AWS server."""

import gc
import http.client
import json
import threading
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.service import DynamoDB, ServiceError
from mint.table import CounterTable

from local.aws_clients import Aws
from proof.chaos.proxy import Faults, Proxy
from proof.chaos.stack import wait_until
from tests.local.machine import HANGING

REGION, OTHER = "eu-west-1", "us-east-1"


@pytest.fixture
def proxy(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Proxy]:
    """A proxy without faults, which DynamoDB's clients use."""
    proxy = Proxy(Faults(Random(0), cuts=0, throttles=0, delays=0))
    proxy.server = aws.endpoint
    with proxy.listening():
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        yield proxy


@pytest.fixture
def table(aws: Aws) -> Callable[[str], str]:
    """Make a counters table in a region, with the counter `orders` at 1, stride 3."""

    def make(region: str) -> str:
        name = f"chaos-{uuid.uuid4().hex}-counters"
        client = aws.client("dynamodb", region)
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "counter", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "counter", "AttributeType": "S"}],
        )
        numbers = {"issued": 1, "stride": 3, "ceiling": 3001, "epoch": 1}
        item = {key: {"N": str(value)} for key, value in numbers.items()}
        client.put_item(TableName=name, Item={"counter": {"S": "orders"}, **item})
        return name

    return make


def issued(aws: Aws, region: str, table: str) -> int:
    answer: Any = aws.client("dynamodb", region).get_item(TableName=table, Key={"counter": {"S": "orders"}})
    return int(answer["Item"]["issued"]["N"])


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    """Serve on a free port, and give out the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


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
    proxy.faults.cuts = 1

    with pytest.raises(NoResponse):
        DynamoDB(REGION).call("UpdateItem", increment(name))

    assert issued(aws, REGION, name) == 10  # three attempts, each carried out
    assert [list(write.integers) for write in proxy.writes] == [[4], [7], [10]]
    assert proxy.injected == {"cut before the answer": 3}


def test_a_throttled_call_is_not_carried_out(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    name = table(REGION)
    proxy.faults.throttles = 1

    with pytest.raises(ServiceError, match="ProvisionedThroughputExceeded") as refused:
        DynamoDB(REGION).call("UpdateItem", increment(name))

    assert refused.value.meaning == "throttled"
    assert issued(aws, REGION, name) == 1
    assert proxy.writes == []


def test_a_delayed_call_is_carried_out(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    name = table(REGION)
    proxy.faults.delays = 1

    with suppress(NoResponse):  # it may be delayed for longer than its caller waits
        DynamoDB(REGION).call("UpdateItem", increment(name))

    attempts = proxy.injected["delayed"]
    assert attempts >= 1
    assert wait_until(lambda: issued(aws, REGION, name) == 1 + 3 * attempts, HANGING)


@pytest.mark.parametrize("silent", [True, False])
def test_only_the_region_that_is_cut_off_is_unreachable(
    proxy: Proxy, table: Callable[[str], str], aws: Aws, silent: bool
) -> None:
    unreachable, there = table(REGION), table(OTHER)
    proxy.faults.silent = silent
    proxy.faults.unreachable.add(REGION)

    with pytest.raises(NoResponse, match="timed out" if silent else "closed|reset"):
        DynamoDB(REGION).call("UpdateItem", increment(unreachable))
    DynamoDB(OTHER).call("UpdateItem", increment(there))

    assert issued(aws, REGION, unreachable) == 1
    assert issued(aws, OTHER, there) == 4
    proxy.faults.off()
    DynamoDB(REGION).call("UpdateItem", increment(unreachable))
    assert issued(aws, REGION, unreachable) == 4


def fence(table: str, counter: str = "orders") -> dict[str, object]:
    return {
        "TableName": table,
        "Key": {"counter": {"S": counter}},
        "UpdateExpression": "SET ceiling = :ceiling",
        "ExpressionAttributeValues": {":ceiling": {"N": "301"}},
    }


@pytest.mark.parametrize(
    ("status", "body"),
    [(503, b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>"), (502, b""), (500, b"")],
)
def test_an_outage_answers_with_pages(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes) -> None:
    monkeypatch.setattr("proof.chaos.proxy.STATUSES", (status,))
    proxy.faults.out.add(REGION)
    caller = http.client.HTTPConnection(proxy.endpoint.removeprefix("http://"), timeout=HANGING)

    for _ in range(2):  # the connection stays
        caller.request("POST", "/", json.dumps(increment("x-counters")), signed("UpdateItem"))
        response = caller.getresponse()
        assert (response.status, response.read()) == (status, body)

    caller.close()
    assert proxy.injected == {"answered with an error page": 2}


def test_a_connection_that_ends_after_its_response_says_so(proxy: Proxy, table: Callable[[str], str]) -> None:
    """Otherwise its caller keeps it, and a call on it fails if it arrives just before the end."""
    caller = http.client.HTTPConnection(proxy.endpoint.removeprefix("http://"), timeout=HANGING)
    name = table(REGION)

    for headers, expected in (({}, None), ({"Connection": "close"}, "close")):
        caller.request("POST", "/", json.dumps(increment(name)), {**signed("UpdateItem"), **headers})
        response = caller.getresponse()
        response.read()
        assert response.headers["Connection"] == expected
    assert caller.sock is None


def test_only_the_region_with_the_outage_answers_with_pages(
    proxy: Proxy, table: Callable[[str], str], aws: Aws
) -> None:
    out, healthy = table(REGION), table(OTHER)
    proxy.faults.out.add(REGION)

    with pytest.raises(ServiceError) as refused:
        DynamoDB(REGION).call("UpdateItem", increment(out))
    DynamoDB(OTHER).call("UpdateItem", increment(healthy))

    assert refused.value.transient
    assert (issued(aws, REGION, out), issued(aws, OTHER, healthy)) == (1, 4)
    proxy.faults.off()
    DynamoDB(REGION).call("UpdateItem", increment(out))
    assert issued(aws, REGION, out) == 4


def test_a_hot_item_is_throttled_for_the_coordinator(proxy: Proxy, table: Callable[[str], str], aws: Aws) -> None:
    hot, elsewhere = table(REGION), table(OTHER)
    proxy.faults.hot.add((REGION, "orders"))
    item: dict[str, Any] = {"stride": {"N": "3"}, "counter": {"S": "orders"}}
    errors: set[str] = set()

    for operation, write in [("UpdateItem", fence(hot)), ("PutItem", {"TableName": hot, "Item": item})] * 3:
        with pytest.raises(ServiceError) as refused:
            DynamoDB(REGION).call(operation, write)
        assert refused.value.meaning == "throttled"
        errors.add(refused.value.code)
    DynamoDB(REGION).call("UpdateItem", fence(hot, "invoices"))
    DynamoDB(OTHER).call("UpdateItem", fence(elsewhere))
    assert list(CounterTable(hot, DynamoDB(REGION)).mint("orders").integers()) == [4]

    assert errors == {"ProvisionedThroughputExceededException", "ThrottlingException"}


def test_only_the_coordinators_writes_are_slow(proxy: Proxy, table: Callable[[str], str]) -> None:
    far = table(REGION)
    proxy.faults.slow[REGION] = 0.01
    dynamodb = DynamoDB(REGION)

    dynamodb.call("UpdateItem", increment(far))
    dynamodb.call("GetItem", {"TableName": far, "Key": {"counter": {"S": "orders"}}})
    assert proxy.injected["delayed"] == 0
    dynamodb.call("UpdateItem", fence(far))

    assert proxy.injected["delayed"] == 1


def test_nothing_happens_by_chance_while_it_is_calm(proxy: Proxy, table: Callable[[str], str]) -> None:
    proxy.faults.cuts = proxy.faults.throttles = proxy.faults.delays = 1
    proxy.faults.calm = True

    DynamoDB(REGION).call("UpdateItem", increment(table(REGION)))

    assert proxy.injected == {}


def test_another_dynamodb_gets_the_calls_with_one_access_key(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Other(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(self.headers["Authorization"])
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b'5\r\n{"Ite\r\n6\r\nm":{}}\r\n0\r\n\r\n')

        def log_message(self, *_: Any, **__: Any) -> None:
            """Say nothing."""

    with serving(Other) as other:
        proxy = Proxy(Faults(Random(0), 0, 0, 0), other)
        with proxy.listening():
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ASIAOFAROLE")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
            client = DynamoDB(REGION)
            answer = client.call("GetItem", {"TableName": "t"})
            client.close()

    assert answer == {"Item": {}}
    assert "Credential=test/" in heard[0]
    assert f"/{REGION}/dynamodb/aws4_request" in heard[0]


@pytest.mark.parametrize(("request_of", "minted", "of_layouts"), [(increment, [[4]], False), (fence, [], True)])
def test_what_happens_after_its_caller_has_hung_up_is_recorded(
    request_of: Callable[[str], dict[str, object]], minted: list[list[int]], of_layouts: bool
) -> None:
    item = {"counter": {"S": "orders"}, "issued": {"N": "4"}, "stride": {"N": "3"}}
    answer = json.dumps({"Attributes": item}).encode()
    arrived, hung_up = threading.Event(), threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrived.set()
            hung_up.wait(HANGING)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any, **__: Any) -> None:
            """Say nothing."""

    with serving(Slow) as server:
        proxy = Proxy(Faults(Random(0), 0, 0, 0))
        proxy.server = server
        with proxy.listening():
            caller = http.client.HTTPConnection(proxy.endpoint.removeprefix("http://"))
            caller.request("POST", "/", json.dumps(request_of("x-counters")), signed("UpdateItem"))
            assert arrived.wait(HANGING)
            caller.close()
            other = http.client.HTTPConnection(proxy.endpoint.removeprefix("http://"))
            other.request("GET", "/")
            assert other.getresponse().read(), "by now, the proxy has seen that the caller has hung up"
            other.close()
            gc.collect()
            hung_up.set()
            assert wait_until(lambda: bool(proxy.given_up), HANGING)

    assert [list(write.integers) for write in proxy.writes] == minted
    assert [(call.region, call.of_layouts) for call in proxy.given_up] == [(REGION, of_layouts)]
