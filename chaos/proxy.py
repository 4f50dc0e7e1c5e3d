"""A proxy on 127.0.0.1, through which functions and gateways reach DynamoDB. It injects faults and records mints."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from threading import Event, Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SCOPE = re.compile(rb"Credential=([^/\s]+)/[0-9]{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
"""The access key, region and service in the signature's credential scope (IAM guide, "Signature elements")."""

TARGET = re.compile(rb"^x-amz-target: *DynamoDB_[0-9]{8}\.([A-Za-z]+)", re.IGNORECASE | re.MULTILINE)
TABLE = re.compile(rb'"TableName" *: *"([A-Za-z0-9_.-]+)"')
ITEM = re.compile(rb'"counter" *: *\{ *"S" *: *"([^"]+)"')
MINTS = re.compile(rb'"UpdateExpression" *: *"SET issued = issued \+')
COUNTERS = "-counters"
"""The end of a counters table's name."""


class AwsCall(NamedTuple):
    """One call to a service in a region."""

    region: str
    service: str
    operation: str
    """The operation of DynamoDB; empty for another service."""
    table: str
    """The first table that it names, if any."""
    key: str
    """The first item that it names, if any."""
    mints: bool

    @property
    def to_dynamodb(self) -> bool:
        """Whether it goes to DynamoDB."""
        return self.service == "dynamodb"

    @property
    def writes(self) -> bool:
        """Whether it may change an item."""
        return self.operation in ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem")

    @property
    def of_layouts(self) -> bool:
        """Whether it may be one of the coordinator's: whatever doesn't mint, and isn't about receipts."""
        return not self.mints and not self.table.endswith("-receipts")

    @property
    def coordinates(self) -> bool:
        """Whether it is one of the coordinator's writes to a counters table: every write that doesn't mint."""
        return self.to_dynamodb and self.writes and not self.mints and self.table.endswith(COUNTERS)


class Write(NamedTuple):
    """A write that minted: `count` integers from `first` on, `stride` apart, carried out between two moments."""

    region: str
    counter: str
    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    began: float
    ended: float

    def integers(self) -> range:
        """Return the integers."""
        return range(self.first, self.first + self.count * self.stride, self.stride)


def call_of(head: bytes, body: bytes) -> AwsCall:
    """Return what a request's head and body ask for."""
    scope, target, table, key = SCOPE.search(head), TARGET.search(head), TABLE.search(body), ITEM.search(body)
    return AwsCall(
        region=scope[2].decode() if scope else "",
        service=scope[3].decode() if scope else "",
        operation=target[1].decode() if target else "",
        table=table[1].decode() if table else "",
        key=key[1].decode() if key else "",
        mints=MINTS.search(body) is not None,
    )


def write_of(call: AwsCall, request: bytes, answer: bytes, began: float, ended: float) -> Write | None:
    """Return the write that minted, or None if the successful call is another one.

    The function and API Gateway mint by the same UpdateItem, which returns the item.
    """
    if call.operation != "UpdateItem" or not call.table.endswith(COUNTERS) or not call.mints:
        return None
    asked: Mapping[str, Any] = json.loads(request)
    item: Mapping[str, Any] = json.loads(answer)["Attributes"]
    issued, stride = int(item["issued"]["N"]), int(item["stride"]["N"])
    step = int(asked.get("ExpressionAttributeValues", {}).get(":step", {"N": stride})["N"])
    first = issued - step + stride
    return Write(call.region, item["counter"]["S"], first, stride, step // stride, began, ended)


CUTS, THROTTLES, DELAYS = 0.01, 0.02, 0.02
"""The share of calls that lose their answer, are throttled or are delayed."""

LATE = 1.5
"""Seconds of the longest delay: longer than the minting function waits, so its retry overtakes the first attempt."""


STATUSES = (503, 503, 503, 500, 502)
"""How an outage answers: mostly with 503."""

THROTTLED = ("ProvisionedThroughputExceededException", "ThrottlingException")
"""How DynamoDB throttles (DynamoDB guide, "Diagnosing throttling")."""


class Fate(NamedTuple):
    """What happens to one call, in this order."""

    unreachable: bool = False
    """It never arrives."""
    status: int = 0
    """It is answered with this status instead, by whatever stands before DynamoDB."""
    delay: float = 0
    """Seconds before it is carried out, even if its caller has given up by then."""
    throttled: str = ""
    """It is refused with this error and not carried out."""
    cut: bool = False
    """It is carried out, and the connection ends before the answer."""


@dataclass
class Faults:
    """The faults that are on. Several threads may ask and change them."""

    random: Random
    cuts: float = CUTS
    throttles: float = THROTTLES
    delays: float = DELAYS
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that are cut off: no call reaches them, wherever it comes from."""
    silent: bool = True
    """Whether callers of an unreachable region hear nothing until they give up, or lose the connection at once."""
    out: set[str] = field(default_factory=set[str])
    """Regions whose DynamoDB answers every call with an error page."""
    hot: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Regions and counters whose item is throttled whenever the coordinator writes it."""
    slow: dict[str, float] = field(default_factory=dict[str, float])
    """Region → seconds that each of the coordinator's other writes to its counters takes longer."""
    calm: bool = False
    """Whether nothing happens by chance."""
    _lock: Lock = field(default_factory=Lock)

    def fate(self, call: AwsCall) -> Fate:
        """Choose what happens to a call."""
        if call.region in self.unreachable:
            return Fate(unreachable=True)
        with self._lock:
            cut, throttled, delayed = (1.0 if self.calm else self.random.random() for _ in range(3))
            delay = self.random.uniform(0, LATE)
            status, error = self.random.choice(STATUSES), self.random.choice(THROTTLED)
        if call.region in self.out:
            return Fate(status=status)
        if call.coordinates and (call.region, call.key) in self.hot:
            return Fate(throttled=error)
        slow = self.slow.get(call.region, 0.0) if call.coordinates else 0.0
        return Fate(
            delay=max(slow, delay if delayed < self.delays else 0),
            throttled=THROTTLED[0] if throttled < self.throttles else "",
            cut=cut < self.cuts and call.writes,
        )

    def off(self) -> None:
        """Let every call through from now on."""
        self.cuts = self.throttles = self.delays = 0
        for chosen in (self.unreachable, self.out, self.hot, self.slow):
            chosen.clear()

    async def unheard(self, region: str, caller: asyncio.StreamReader) -> None:
        """Wait like a caller of an unreachable region: until the caller gives up, or the region is back."""
        while self.silent and region in self.unreachable and not caller.at_eof():
            await asyncio.sleep(0.05)


LENGTH = re.compile(rb"^content-length: *([0-9]+)\r?$", re.IGNORECASE | re.MULTILINE)
CHUNKED = re.compile(rb"^transfer-encoding: *chunked\r?\n", re.IGNORECASE | re.MULTILINE)
CLOSING = re.compile(rb"^connection: *close\r?$", re.IGNORECASE | re.MULTILINE)

PAGE = b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>"
"""The body of DynamoDB's 503 in an outage (aws-sdk-js, issue 1379; aws-sdk-ruby, issue 1713)."""


class Message(NamedTuple):
    """A request or a response. `head` ends with the empty line."""

    head: bytes
    body: bytes

    @property
    def status(self) -> int:
        """A response's status."""
        return int(self.head.split(b" ", 2)[1])

    @property
    def last(self) -> bool:
        """Whether its sender closes the connection after it."""
        return CLOSING.search(self.head) is not None


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Read one message. A body in chunks gets a Content-Length instead.

    Raises:
        asyncio.IncompleteReadError: The connection ended before.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    if CHUNKED.search(head):
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return Message(CHUNKED.sub(b"Content-Length: %d\r\n" % len(body), head), body)
    length = LENGTH.search(head)
    return Message(head, await reader.readexactly(int(length[1])) if length else b"")


def refusal(error: str) -> Message:
    """Return DynamoDB's response that refuses a call with this error."""
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected by chaos"}' % error.encode()
    return _response(400, "application/x-amz-json-1.0", body)


def error_page(status: int) -> Message:
    """Return the response of what stands before DynamoDB during an outage: HTML with 503, else an empty body."""
    return _response(status, "text/html", PAGE if status == HTTPStatus.SERVICE_UNAVAILABLE else b"")


def _response(status: int, media_type: str, body: bytes) -> Message:
    reason = HTTPStatus(status).phrase
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return Message(head.encode(), body)


ACCESS_KEY = b"test"
"""The access key for another DynamoDB: DynamoDB Local has a set of tables for each key, and checks no signature."""


class Proxy:
    """Forwards calls, those of DynamoDB to `dynamodb` if that is given, and applies the faults to them."""

    def __init__(self, faults: Faults, dynamodb: str | None = None) -> None:
        self.faults = faults
        self.injected: Counter[str] = Counter()
        """How often each fault met a call."""
        self.writes: list[Write] = []
        """Every write that minted, whoever got the answer."""
        self.given_up = 0
        """How many of what may be the coordinator's calls had no caller any more when the answer came."""
        self.endpoint = ""
        self.server = ""
        """The local server's URL, once it is known."""
        self._dynamodb = dynamodb
        self._serving: set[asyncio.Task[None] | None] = set()
        """Keeps tasks alive that wait for the server after their caller has hung up: asyncio doesn't."""

    @contextmanager
    def listening(self) -> Generator[None]:
        """Listen on a free port during the block, in a thread of its own."""
        started = Event()
        loop = asyncio.new_event_loop()
        ended = asyncio.Event()

        async def run() -> None:
            listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20)
            self.endpoint = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            started.set()
            await ended.wait()
            listener.close()
            while rest := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in rest:
                    task.cancel()
                await asyncio.wait(rest)

        thread = Thread(target=lambda: loop.run_until_complete(run()), name="proxy", daemon=True)
        thread.start()
        try:
            started.wait()
            yield
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join()
            loop.close()

    async def _serve(self, caller: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        upstream, task = _Upstream(), asyncio.current_task()
        self._serving.add(task)
        with suppress(OSError, EOFError, asyncio.CancelledError):
            while answer := await self._answer(await read_message(caller), caller, upstream):
                back.write(answer.head + answer.body)
                await back.drain()
                if answer.last:
                    break
        self._serving.discard(task)
        upstream.close()
        back.close()

    async def _answer(self, request: Message, caller: asyncio.StreamReader, upstream: "_Upstream") -> Message | None:
        """Return what the caller gets, None if that is the end of the connection."""
        call = call_of(request.head, request.body)
        if not call.to_dynamodb:
            return await upstream.exchange(self.server, request)
        fate = self.faults.fate(call)
        if fate.unreachable:
            self.injected["unreachable"] += 1
            await self.faults.unheard(call.region, caller)
            return None
        if fate.status:
            self.injected["answered with an error page"] += 1
            return error_page(fate.status)
        if fate.delay:
            self.injected["delayed"] += 1
            await asyncio.sleep(fate.delay)
        if fate.throttled:
            self.injected["throttled"] += 1
            return refusal(fate.throttled)
        answer = await self._carry_out(call, request, upstream)
        self.given_up += call.of_layouts and caller.at_eof()
        if fate.cut or call.region in self.faults.unreachable:  # cut off meanwhile
            self.injected["cut before the answer"] += 1
            return None
        return answer

    async def _carry_out(self, call: AwsCall, request: Message, upstream: "_Upstream") -> Message:
        sent = request
        if self._dynamodb is not None:
            sent = Message(_with_key(request.head), request.body)
        began = time.monotonic()
        answer = await upstream.exchange(self._dynamodb or self.server, sent)
        if answer.status == 200:
            write = write_of(call, request.body, answer.body, began, time.monotonic())
            if write is not None:
                self.writes.append(write)
        return answer


class _Upstream:
    """One caller's connections to the servers, kept open while they are."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    def close(self) -> None:
        """Close the connections."""
        for _reader, writer in self._kept.values():
            writer.close()

    async def exchange(self, server: str, request: Message) -> Message:
        """Send a request and return the response."""
        connection = self._kept.pop(server, None)
        if connection is None or connection[0].at_eof():
            address = urlsplit(server)
            connection = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
        reader, writer = connection
        writer.write(request.head + request.body)
        await writer.drain()
        answer = await read_message(reader)
        if answer.last:
            writer.close()
        else:
            self._kept[server] = connection
        return answer


def _with_key(head: bytes) -> bytes:
    """Return a request's head with the one access key that all callers share."""
    return SCOPE.sub(lambda found: found[0].replace(found[1], ACCESS_KEY, 1), head)
