"""Requests to functions wait their turn, the first come first; others don't wait."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from local.server.ministack_server import Queue

URL = "/_aws/lambda-url/abc/"


class Server:
    """An application whose requests wait until they are let go, behind a queue."""

    def __init__(self, at_once: int, patience: float) -> None:
        self.queue = Queue(self, at_once, patience)
        self.running: list[str] = []
        self.go_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        self.running.append(scope["path"])
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def request(self, path: str) -> tuple[int, dict[bytes, bytes]]:
        """Send a request. Return the response's status and headers."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await self.queue({"type": "http", "path": path}, None, send)  # pyright: ignore[reportArgumentType]
        return sent[0]["status"], dict(sent[0]["headers"])


def test_so_many_run_at_once_and_the_others_in_their_order() -> None:
    async def run() -> tuple[list[str], list[int]]:
        server = Server(at_once=2, patience=60)
        requests = [asyncio.create_task(server.request(f"{URL}{n}")) for n in range(5)]
        while len(server.running) < 2:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        at_once = list(server.running)
        requests.append(asyncio.create_task(server.request("/")))  # as a function calls its table
        while len(server.running) < 3:
            await asyncio.sleep(0)
        server.go_on.set()
        statuses = [status for status, _ in await asyncio.gather(*requests)]
        assert server.running == [f"{URL}{n}" for n in range(2)] + ["/"] + [f"{URL}{n}" for n in range(2, 5)]
        return at_once, statuses

    assert asyncio.run(run()) == ([f"{URL}0", f"{URL}1"], [200] * 6)


def test_who_waits_too_long_is_throttled_as_on_aws() -> None:
    async def run() -> tuple[int, dict[bytes, bytes]]:
        server = Server(at_once=1, patience=0.01)
        first = asyncio.create_task(server.request(URL))
        while not server.running:
            await asyncio.sleep(0)
        found = await server.request(URL)
        server.go_on.set()
        assert (await first)[0] == 200
        assert (await server.request(URL))[0] == 200, "the place is free again"
        return found

    status, headers = asyncio.run(run())
    assert (status, headers[b"retry-after"]) == (429, b"1")
