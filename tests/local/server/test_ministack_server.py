"""Requests to functions wait their turn, but not too long."""

import asyncio
from functools import partial
from typing import Any

from local.server.ministack_server import Queue


def test_who_waits_too_long_is_throttled_as_on_aws() -> None:
    async def run() -> list[Any]:
        sent: list[Any] = []
        running, go_on = asyncio.Event(), asyncio.Event()

        async def send(message: Any) -> None:
            sent.append(message)

        async def function(*_: object) -> None:
            running.set()
            await go_on.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        queue: Any = Queue(function, at_once=1, patience=0.01)
        ask = partial(queue, {"type": "http", "path": "/_aws/lambda-url/abc/"}, None, send)
        first = asyncio.create_task(ask())
        await running.wait()
        await ask()
        go_on.set()
        await first
        await ask()
        return [(one["status"], dict(one["headers"]).get(b"retry-after")) for one in sent if "status" in one]

    assert asyncio.run(run()) == [(429, b"1"), (200, None), (200, None)]
