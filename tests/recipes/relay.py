"""A way to the local server on which a test sees every call, and may act between the server's answer and the caller."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from proof.faulty_server import Request, Response, Server, forward


@dataclass(frozen=True)
class Call:
    """One call, and what the server answered."""

    request: Request
    status: int
    body: bytes

    @property
    def minted(self) -> bool:
        return self.request.path.startswith("/_aws/lambda-url/")

    @property
    def target(self) -> str:
        """The AWS operation: `PutItem`."""
        return self.request.operation


class Relay(Server):
    """Passes everything on as it is to a port of this machine.

    `answered` is called with each call before its caller has the answer. If it raises ConnectionError, the caller never
    gets it.
    """

    def __init__(self, server: int) -> None:
        super().__init__(self._pass_on)
        self._server = f"http://127.0.0.1:{server}"
        self.calls: list[Call] = []
        self.answered: Callable[[Call], None] = lambda _: None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def _pass_on(self, request: Request) -> Response:
        answer = await forward(self._server, request)
        call = Call(request, answer.status, answer.body)
        self.calls.append(call)
        await asyncio.to_thread(self.answered, call)
        return answer
