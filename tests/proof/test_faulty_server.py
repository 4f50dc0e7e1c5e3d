"""What a server does to requests, by its faults, as a caller of HTTP sees it."""

import http.client
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from typing import Literal

import pytest

from proof.faulty_server import PATIENCE, Fault, Request, Response, Server, forward

OK = (200, b"done")
NO = (Response(503, b"no"),)
CHUNKED = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ndo\r\n2\r\nne\r\n0\r\n\r\n"


async def done(_: Request) -> Response:
    return Response(200, b"done", {"X-Who": "handler"})


@contextmanager
def connection_to(server: Server) -> Generator[http.client.HTTPConnection]:
    host, port = server.url.removeprefix("http://").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE)) as made:
        yield made


def ask(server: Server, path: str = "/", region: str = "") -> tuple[int, bytes]:
    """Return status and body of one request; the status is 0 if the connection ends, and -1 if it is reset."""
    with connection_to(server) as caller:
        scope = f"Credential=key/20260101/{region}/dynamodb/aws4_request"
        caller.request("POST", path, b"{}", {"Authorization": scope})
        try:
            response = caller.getresponse()
            return response.status, response.read()
        except http.client.RemoteDisconnected:
            return 0, b""
        except ConnectionResetError:
            return -1, b""
        except http.client.IncompleteRead as cut:
            return 200, cut.partial


@pytest.mark.parametrize(
    ("fault", "expected", "carried_out"),
    [
        (Fault(), OK, True),
        (Fault(delay=(0.001, 0.002)), OK, True),
        (Fault(end="close"), (0, b""), False),
        (Fault(end="reset"), (-1, b""), False),
        (Fault(carried_out=True, end="close"), (0, b""), True),
        (Fault(replies=NO), (503, b"no"), False),
        (Fault(replies=NO, carried_out=True), (503, b"no"), True),
        (Fault(carried_out=True, edit=lambda response: Response(201, response.body * 2)), (201, b"donedone"), True),
        (Fault(carried_out=True, edit=lambda response: response.encode()[:-2], end="close"), (200, b"do"), True),
    ],
)
def test_a_fault_is_what_the_caller_gets(fault: Fault, expected: tuple[int, bytes], carried_out: bool) -> None:
    with Server(done) as other, Server(lambda request: forward(other.url, request), [fault]) as server:
        assert ask(server) == expected

    assert (len(server.requests), len(other.requests)) == (1, carried_out)


def test_the_first_fault_that_decides_a_request_has_its_way() -> None:
    faults = [
        Fault("delays", delay=(0, 0.001)),
        Fault("here", region="eu-west-1", replies=NO),
        Fault("orders", matches=lambda request: request.path == "/orders", replies=NO),
        Fault("twice", matches=lambda request: request.path == "/twice", times=2, replies=NO),
    ]
    with Server(done, faults) as server:
        assert [ask(server, region=region)[0] for region in ("eu-west-1", "us-east-1")] == [503, 200]
        assert [ask(server, path)[0] for path in ("/orders", "/")] == [503, 200]
        assert [ask(server, "/twice")[0] for _ in range(3)] == [503, 503, 200]
        with server.failing(Fault(replies=(Response(429),))):
            assert ask(server)[0] == 429
        assert ask(server)[0] == 200
        with suppress(ZeroDivisionError), server.failing(Fault(replies=(Response(502),))):
            raise ZeroDivisionError
        assert ask(server)[0] == 502, "it stays if the block fails"
    assert server.injected == {"delays": 8, "here": 1, "orders": 1, "twice": 2}


@pytest.mark.parametrize(("end", "carried_out"), [("", [True]), ("close", [])])
def test_a_request_is_held_until_its_caller_hangs_up(end: Literal["", "close"], carried_out: list[bool]) -> None:
    """It may then be carried out late, without its caller."""
    calls: list[bool] = []

    async def handler(request: Request) -> Response:
        calls.append(request.gone())
        return await done(request)

    with Server(handler, [Fault(hold=True, end=end)]) as server:
        with connection_to(server) as caller:
            caller.request("POST", "/", b"{}")
            server.until(lambda: bool(server.requests))
        server.until(lambda: not server.open)

    assert calls == carried_out


def test_a_request_is_held_until_its_fault_is_removed() -> None:
    with Server(done, [Fault("held", hold=True)]) as server, connection_to(server) as caller:
        caller.request("POST", "/", b"{}")
        server.until(lambda: server.injected["held"] == 1)
        server.faults[:] = [Fault(replies=NO)]  # another one strikes it then
        assert caller.getresponse().status == 503


@pytest.mark.parametrize(
    ("reply", "expected"), [(CHUNKED, OK), (CHUNKED[:-9], (0, b"")), (b"", (0, b"")), (b"SSH-2.0", (0, b""))]
)
def test_half_a_response_is_not_forwarded(reply: bytes, expected: tuple[int, bytes]) -> None:
    with (
        Server(done, [Fault(replies=(reply,), end="close")]) as other,
        Server(lambda request: forward(other.url, request)) as server,
    ):
        assert ask(server) == expected
