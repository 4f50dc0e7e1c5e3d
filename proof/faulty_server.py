"""A server on 127.0.0.1 that stands in for others, or before them, and fails as it is told.

A handler responds to each request; `forward` asks another server. The faults are data, and may change at any time: each
says which requests it strikes, and what happens to them, before they are carried out or after.
"""

import asyncio
import json
import re
import socket
import ssl
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from random import Random
from types import SimpleNamespace
from typing import Any, Literal, Self, cast
from urllib.parse import urlsplit

SCOPE = re.compile(r"Credential=[^/\s]+/[0-9]{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
"""The region and service in the signature's credential scope (IAM guide, "Signature elements")."""

PATIENCE = 120.0
"""Seconds for which `until` waits, on a machine that may be as busy as can be."""

POLL = 0.01
"""Seconds from one look to the next while a request is held."""

RESET = struct.pack("ii", 1, 0)
"""Linger for no time: a socket that is closed so sends a reset."""

HOP = {"content-length", "transfer-encoding", "connection"}
"""Headers of one connection, not of the response (RFC 9110, section 7.6.1; RFC 9112, section 6)."""


@dataclass
class Request:
    """A request, as it arrived."""

    head: bytes
    """With the empty line at its end."""
    body: bytes = b""
    gone: Callable[[], bool] = lambda: False
    """Returns whether its caller has hung up."""

    method: str = field(init=False)
    path: str = field(init=False)
    """With the query."""
    headers: Mapping[str, str] = field(init=False)
    """By their names in lower case."""

    def __post_init__(self) -> None:
        first, *lines = self.head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        self.method, self.path = first.split(" ")[:2]
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    @cached_property
    def scope(self) -> tuple[str, str]:
        """The region and service that it is signed for; both are empty if it isn't."""
        found = SCOPE.search(self.headers.get("authorization", ""))
        return (found[1], found[2]) if found else ("", "")

    @property
    def operation(self) -> str:
        """DynamoDB's operation, empty if it is no call of DynamoDB."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]

    @cached_property
    def document(self) -> Any:
        """Its JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Response:
    """A response. Its length is added where it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def encode(self, *, last: bool = False) -> bytes:
        """Return all its bytes. The last one says that its connection ends with it."""
        lines = [f"{name}: {value}\r\n" for name, value in self.headers.items()]
        end = "Connection: close\r\n" if last else ""
        head = f"HTTP/1.1 {self.status} X\r\n{''.join(lines)}Content-Length: {len(self.body)}\r\n{end}\r\n"
        return head.encode("latin-1") + self.body


def json_response(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None, *, crc: int | None = None
) -> Response:
    """Return a response like DynamoDB's. `crc` is its checksum, by default the right one."""
    body = json.dumps(document).encode()
    crc = zlib.crc32(body) if crc is None else crc
    content = {"Content-Type": "application/x-amz-json-1.0", "x-amz-crc32": str(crc)}
    return Response(status, body, content | dict(headers or {}))


Reply = Response | bytes
"""What is sent: a response, or any bytes."""

Handler = Callable[[Request], Awaitable[Reply]]


@dataclass(frozen=True, eq=False)
class Fault:
    """What happens to some requests. If it only takes time, they go on."""

    name: str = ""
    """The server counts the strikes of each name."""
    region: str = ""
    """Of the signature; empty: any."""
    matches: Callable[[Request], bool] = lambda _: True
    share: float = 1
    """Of the requests that match, by chance."""
    times: int | None = None
    """How often it strikes; None: always."""
    carried_out: bool = False
    """Whether it strikes when the response is known, or instead of the handler."""
    notify: Callable[[], object] = lambda: None
    """Called when it strikes."""
    delay: tuple[float, float] = (0, 0)
    """Seconds that the request takes longer, at least and at most, whether its caller waits or not."""
    hold: bool = False
    """Whether the request waits until this fault is removed or the caller hangs up."""
    replies: Sequence[Reply] = ()
    """One of them is sent, by chance. If there is none and the connection ends, nothing is."""
    edit: Callable[[Response], Reply] | None = None
    """Makes the reply from the response."""
    drip: bytes | None = None
    """What follows, every `every` seconds, without an end."""
    every: float = POLL
    end: Literal["", "close", "reset"] = ""
    """How the connection ends."""


class Server:
    """Serves during the block, in a thread of its own."""

    def __init__(
        self,
        handler: Handler,
        faults: Iterable[Fault] = (),
        *,
        tls: ssl.SSLContext | None = None,
        random: Random | None = None,
        recording: bool = True,
    ) -> None:
        """Make it. The first fault that decides has its way; `recording` keeps all requests."""
        self.handler = handler
        self.recording = recording
        self.faults: list[Fault] = list(faults)
        self.random = random or Random(0)
        self.requests: list[Request] = []
        self.connections = 0
        """How many were made, also in vain."""
        self.open = 0
        """How many of them haven't ended."""
        self.injected: Counter[str] = Counter()
        """How often the faults of each name struck."""
        self.url = ""
        self._tls = tls
        self._strikes_of: Counter[Fault] = Counter()
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        listener.setblocking(False)
        self.url = f"http{'s' if self._tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._main = self._loop.create_task(self._accept(listener))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    @contextmanager
    def failing(self, *faults: Fault) -> Generator[None]:
        """Have these faults, before all others, until the block succeeds."""
        self.faults[:0] = faults
        yield
        self.faults[:] = [fault for fault in self.faults if fault not in faults]

    def until(self, enough: Callable[[], bool]) -> None:
        """Wait until enough requests have arrived or connections have ended.

        Raises:
            TimeoutError: after `PATIENCE`.
        """
        with self._changed:
            if not self._changed.wait_for(enough, PATIENCE):
                raise TimeoutError

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._main)
        self._loop.run_until_complete(asyncio.sleep(0))  # for the connections to be closed
        self._loop.close()

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            async with asyncio.TaskGroup() as conversations:
                while True:
                    accepted, _ = await self._loop.sock_accept(listener)
                    self.connections += 1
                    self.open += 1
                    conversations.create_task(self._converse(accepted))

    async def _converse(self, accepted: socket.socket) -> None:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            with suppress(OSError, EOFError, HTTPException):  # the caller or the other server has ended
                transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, accepted, ssl=self._tls)
                # So all is sent before the connection ends. With a limit of 0, TLS would wait for ever.
                transport.set_write_buffer_limits(1, 0)
                writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
                try:
                    while await self._exchange(reader, writer):
                        pass
                finally:
                    transport.abort()
        finally:
            self._loop.call_soon(self._note_end)  # when the socket is closed

    def _note_end(self) -> None:
        with self._changed:
            self.open -= 1
            self._changed.notify_all()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Respond to one request. Return whether the connection stays."""
        head = await reader.readuntil(b"\r\n\r\n")
        request = Request(head, gone=lambda: reader.at_eof() or writer.is_closing())
        request.body = await reader.readexactly(int(request.headers.get("content-length", 0)))
        if self.recording:
            with self._changed:
                self.requests.append(request)
                self._changed.notify_all()
        reply, fault = await self._reply(request)
        last = bool(fault.end) or request.headers.get("connection", "").lower() == "close"
        writer.write(reply.encode(last=last) if isinstance(reply, Response) else reply)
        await writer.drain()
        while fault.drip is not None:
            writer.write(fault.drip)
            await writer.drain()
            await asyncio.sleep(fault.every)
        if fault.end == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        return not last

    async def _reply(self, request: Request) -> tuple[Reply, Fault]:
        """Return what is sent, and the fault that decided it."""
        if fault := await self._struck(request, carried_out=False):
            return self.random.choice(fault.replies or (b"",)), fault
        reply = await self.handler(request)
        if fault := await self._struck(request, carried_out=True):
            edited = (fault.edit(cast("Response", reply)),) if fault.edit else (b"",)
            return self.random.choice(fault.replies or edited), fault
        return reply, Fault()

    async def _struck(self, request: Request, *, carried_out: bool) -> Fault | None:
        """Let the faults take their time. Return the one that decides, if any does."""
        for fault in tuple(self.faults):
            if fault.carried_out != carried_out or not self._strikes(fault, request):
                continue
            if fault.name:
                self.injected[fault.name] += 1
            fault.notify()
            if fault.delay[1]:
                await asyncio.sleep(self.random.uniform(*fault.delay))
            while fault.hold and fault in self.faults and not request.gone():
                await asyncio.sleep(POLL)
            if fault.replies or fault.edit or fault.end or fault.drip is not None:
                return fault
            if fault.hold and fault not in self.faults:  # there may be others by now
                return await self._struck(request, carried_out=carried_out)
        return None

    def _strikes(self, fault: Fault, request: Request) -> bool:
        if (fault.region and fault.region != request.scope[0]) or not fault.matches(request):
            return False
        if (fault.share < 1 and self.random.random() >= fault.share) or self._strikes_of[fault] == fault.times:
            return False
        if fault.times is not None:
            self._strikes_of[fault] += 1
        return True


async def forward(url: str, request: Request, **headers: str) -> Response:
    """Send a request to another server, with some headers replaced, and return its response."""
    server = urlsplit(url)
    first = f"{request.method} {server.path.rstrip('/')}{request.path} HTTP/1.1\r\n"
    own = {name: value for name, value in request.headers.items() if name != "connection"}
    sent = own | {name.lower(): value for name, value in headers.items()} | {"connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    reader, writer = await asyncio.open_connection(server.hostname, server.port)
    try:
        writer.write(f"{first}{lines}\r\n".encode("latin-1") + request.body)
        received = await reader.read()
    finally:
        writer.close()

    def makefile(_: str) -> BytesIO:
        return BytesIO(received)

    as_socket: Any = SimpleNamespace(makefile=makefile)
    response = HTTPResponse(as_socket, method=request.method)
    response.begin()
    end_to_end = {name: value for name, value in response.getheaders() if name.lower() not in HOP}
    return Response(response.status, response.read(), end_to_end)
