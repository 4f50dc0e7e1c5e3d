"""A proxy on 127.0.0.1, through which functions and gateways reach DynamoDB. It injects faults."""

import asyncio
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlsplit

from .calls import SCOPE, Call, Write, call_of, write_of
from .faults import Faults
from .messages import Message, error_page, read_message, refusal

KEY = b"test"
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

    async def _carry_out(self, call: Call, request: Message, upstream: "_Upstream") -> Message:
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
    return SCOPE.sub(lambda found: found[0].replace(found[1], KEY, 1), head)
