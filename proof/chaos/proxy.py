"""A proxy on 127.0.0.1, through which functions and gateways reach DynamoDB. It injects faults and records mints."""

import json
import re
import select
import socket
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SCOPE = re.compile(r"Credential=[^/\s]+/[0-9]{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
"""The region and service in the signature's credential scope (IAM guide, "Signature elements")."""

COUNTERS = "-counters"
"""The end of a counters table's name."""

MINTS = "SET issued = issued +"
"""The beginning of the update by which the function and API Gateway mint. It returns the item."""

ACCESS_KEY = "test"
"""The access key for another DynamoDB: DynamoDB Local has a set of tables for each key, and checks no signature."""


class DynamoDBCall(NamedTuple):
    """One call to DynamoDB in a region."""

    region: str
    operation: str
    request: Mapping[str, Any]

    @property
    def table(self) -> str:
        """Its name; empty for a transaction, of which only the layouts table has any."""
        return self.request.get("TableName", "")

    @property
    def writes(self) -> bool:
        """Whether it may change an item."""
        return self.operation in ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems")

    @property
    def mints(self) -> bool:
        """Whether it mints."""
        return self.table.endswith(COUNTERS) and self.request.get("UpdateExpression", "").startswith(MINTS)

    @property
    def of_layouts(self) -> bool:
        """Whether it may be one of the coordinator's: whatever doesn't mint, and isn't about receipts."""
        return not self.mints and not self.table.endswith("-receipts")

    @property
    def coordinated(self) -> str | None:
        """The counter whose item it writes for the coordinator, by any write that doesn't mint."""
        if not self.writes or self.mints or not self.table.endswith(COUNTERS):
            return None
        return (self.request.get("Key") or self.request["Item"])["counter"]["S"]


class Write(NamedTuple):
    """A write that minted, carried out between two moments."""

    region: str
    counter: str
    integers: range
    began: float
    ended: float


def write_of(call: DynamoDBCall, answer: bytes, began: float, ended: float) -> Write:
    """Return the write that a successful call that mints has made."""
    item: Mapping[str, Any] = json.loads(answer)["Attributes"]
    issued, stride = int(item["issued"]["N"]), int(item["stride"]["N"])
    step = int(call.request.get("ExpressionAttributeValues", {}).get(":step", {"N": stride})["N"])
    return Write(call.region, item["counter"]["S"], range(issued - step + stride, issued + 1, stride), began, ended)


LATE = 1.5
"""Seconds of the longest delay: longer than the minting function waits, so its retry overtakes the first attempt."""

STATUSES = (503, 503, 503, 500, 502)
"""How an outage answers: mostly with 503."""

PAGE = b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>"
"""The body of DynamoDB's 503 in an outage (aws-sdk-js, issue 1379; aws-sdk-ruby, issue 1713)."""

THROTTLED = ("ProvisionedThroughputExceededException", "ThrottlingException")
"""How DynamoDB throttles (DynamoDB guide, "Diagnosing throttling")."""


@dataclass
class Faults:
    """The faults that are on. Several threads may ask and change them."""

    random: Random
    cuts: float = 0.01
    throttles: float = 0.02
    delays: float = 0.02
    """The share of calls that lose their answer, are throttled or are delayed."""
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that are cut off: no call reaches them, wherever it comes from."""
    silent: bool = True
    """Whether callers of an unreachable region hear nothing until they give up, or lose the connection at once."""
    out: set[str] = field(default_factory=set[str])
    """Regions whose DynamoDB answers every call with an error page."""
    hot: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Regions and counters whose item is throttled, and nothing else, whenever the coordinator writes it."""
    slow: dict[str, float] = field(default_factory=dict[str, float])
    """Region → seconds that each of the coordinator's other writes to its counters takes longer."""
    calm: bool = False
    """Whether nothing happens by chance."""
    lock: Lock = field(default_factory=Lock)

    def off(self) -> None:
        """Let every call through from now on."""
        self.cuts = self.throttles = self.delays = 0
        for chosen in (self.unreachable, self.out, self.hot, self.slow):
            chosen.clear()


Message = tuple[int, bytes, Mapping[str, str]]
"""A response: status, body and headers."""


@dataclass
class Proxy:
    """Passes calls on to the servers, those of DynamoDB with faults, and records what the successful ones minted."""

    faults: Faults
    dynamodb: str | None = None
    """The endpoint of another DynamoDB than the local server's. All its callers share one access key."""
    server: str = ""
    """The local server's URL, once it is known."""
    endpoint: str = ""
    writes: list[Write] = field(default_factory=list[Write])
    """Every write that minted, whoever got the answer."""
    injected: Counter[str] = field(default_factory=Counter[str])
    """How often each fault met a call."""
    given_up: list[DynamoDBCall] = field(default_factory=list[DynamoDBCall])
    """The calls that had no caller any more when the answer came."""

    @contextmanager
    def listening(self) -> Generator[None]:
        """Listen on a free port during the block, in threads of its own."""
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Connection, self)) as server:
            server.socket.listen(128)  # a coordinator opens many connections at once
            self.endpoint = f"http://127.0.0.1:{server.server_port}"
            thread = Thread(target=server.serve_forever, args=(0.05,), name="proxy", daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


class _Connection(BaseHTTPRequestHandler):
    """One caller's connection, and those to the servers that are kept open for it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, proxy: Proxy, *arguments: Any) -> None:
        self._proxy = proxy
        self._upstream: dict[str, HTTPConnection] = {}
        super().__init__(*arguments)

    def handle(self) -> None:
        with suppress(OSError, HTTPException):  # the caller or the server has ended
            super().handle()
        for upstream in self._upstream.values():
            upstream.close()

    def respond(self) -> None:
        """Serve one request, or end the connection instead."""
        answer = self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        if answer is None:
            self.close_connection = True
            return
        status, text, headers = answer
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:  # as its caller asked; one that isn't told may use the connection again
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the interface's name)
        """Log nothing."""

    def _answer(self, body: bytes) -> Message | None:
        """Return what the caller gets, None if that is the end of the connection."""
        proxy, faults = self._proxy, self._proxy.faults
        scope = SCOPE.search(self.headers.get("Authorization", ""))
        if scope is None or scope[2] != "dynamodb":
            return self._exchange(proxy.server, body)
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        call = DynamoDBCall(scope[1], operation, json.loads(body))
        if call.region in faults.unreachable:
            self._count("unreachable")
            while faults.silent and call.region in faults.unreachable and not _closed(self.connection):
                time.sleep(0.05)  # like a caller who hears nothing, until it gives up or the region is back
            return None
        with faults.lock:
            shares = (faults.cuts, faults.throttles, faults.delays)
            cut, throttled, delayed = (not faults.calm and faults.random.random() < share for share in shares)
            delay = faults.random.uniform(0, LATE) if delayed else 0
            status, error = faults.random.choice(STATUSES), faults.random.choice(THROTTLED)
        if call.region in faults.out:
            self._count("answered with an error page")
            return status, PAGE if status == 503 else b"", {"Content-Type": "text/html"}
        if hot := (call.region, call.coordinated) in faults.hot:
            delay = 0
        elif call.coordinated:
            delay = max(delay, faults.slow.get(call.region, 0))
        if delay:
            self._count("delayed")
            time.sleep(delay)  # its caller may have given up by then
        if hot or throttled:
            self._count("throttled")
            code = f"com.amazonaws.dynamodb.v20120810#{error if hot else THROTTLED[0]}"
            text = json.dumps({"__type": code, "message": "injected by chaos"})
            return 400, text.encode(), {"Content-Type": "application/x-amz-json-1.0"}
        began = time.monotonic()
        answer = self._exchange(proxy.dynamodb or proxy.server, body)
        if answer[0] == 200 and call.mints:
            proxy.writes.append(write_of(call, answer[1], began, time.monotonic()))
        if _closed(self.connection):
            proxy.given_up.append(call)
        if (cut and call.writes) or call.region in faults.unreachable:  # cut off meanwhile
            self._count("cut before the answer")
            return None
        return answer

    def _exchange(self, server: str, body: bytes) -> Message:
        upstream = self._upstream.setdefault(server, HTTPConnection(urlsplit(server).netloc))
        if upstream.sock and _closed(upstream.sock):
            upstream.close()  # it is opened again for the request
        headers = dict(self.headers.items())
        if server == self._proxy.dynamodb:
            headers["Authorization"] = re.sub("(?<=Credential=)[^/]+", ACCESS_KEY, headers["Authorization"])
        upstream.request(self.command, self.path, body, headers)
        response = upstream.getresponse()
        return response.status, response.read(), dict(response.getheaders())

    def _count(self, fault: str) -> None:
        with self._proxy.faults.lock:
            self._proxy.injected[fault] += 1


def _closed(connection: socket.socket) -> bool:
    """Return whether the other end has closed the connection."""
    with suppress(ConnectionError):
        return bool(select.select([connection], [], [], 0)[0]) and not connection.recv(1, socket.MSG_PEEK)
    return True
