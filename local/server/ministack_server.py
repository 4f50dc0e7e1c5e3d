"""ministack with a queue in front of its functions: `python -m local.server.ministack_server <port>`.

What it has outlives it (`saved.py`), and it is nearer to AWS in some respects (`patches/`).

ministack runs each concurrent request to a function in a process of its own, as AWS does. On a small machine with 200
callers at once, none would get a response in time. So only `AT_ONCE` requests to Function URLs run. The others wait in
order, and get 429 after `PATIENCE` seconds, as from AWS where a function is at its limit. Requests to other services
don't wait, since functions need them to end.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from .patches import apply, ministack
from .process import end_with_folder
from .saved import App, Receive, Saved, Scope, Send

AT_ONCE = 2 * (os.cpu_count() or 1)
"""Requests to functions that run at the same time. A function spends much of its time waiting for its table."""

PATIENCE = 1.5
"""Seconds that a request waits. The client gives an attempt 3 seconds."""

BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted. If it drops one, its caller waits for seconds."""

LIMIT = (
    f"this machine runs {AT_ONCE} requests to functions at the same time, two for each processor; another one waits "
    f"{PATIENCE:g} seconds at most"
)
THROTTLED = json.dumps(
    {"Reason": "ConcurrentInvocationLimitExceeded", "Type": "User", "message": f"Rate Exceeded. Not on AWS: {LIMIT}."}
)

FUNCTION_URLS = "/_aws/lambda-url/"
"""The beginning of every Function URL's path. ministack also has host names for them, which no resolver here knows."""


class Queue:
    """An ASGI application that lets only some requests to functions in at once. `patience` is in seconds."""

    def __init__(self, app: App, at_once: int = AT_ONCE, patience: float = PATIENCE) -> None:
        self._app = app
        self._places = asyncio.Semaphore(at_once)
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not scope["path"].startswith(FUNCTION_URLS):
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            await _throttle(send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._places.release()


async def _throttle(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": THROTTLED.encode()})


def main() -> None:
    """Run ministack. Its other settings are in the environment (local/server/aws_server.py)."""
    os.environ["GATEWAY_PORT"] = sys.argv.pop()  # ministack reads options of its own
    os.environ.pop("PYTHONPATH", None)  # functions have only what is in their archives
    from hypercorn.config import Config

    from .patches.versions import NUMBERS

    Config.backlog = BACKLOG
    apply()
    server = ministack("app")
    server.app = Saved(Path(os.environ["STATE_DIR"]), NUMBERS).around(Queue(server.app))
    end_with_folder()
    server.main()


if __name__ == "__main__":
    main()
