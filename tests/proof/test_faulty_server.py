"""What a server does to requests, by its faults, as a caller of HTTP sees it."""

import http.client
import socket
import ssl
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from random import Random

import pytest
import trustme

from proof import faulty_server
from proof.faulty_server import PATIENCE, Fault, Reply, Request, Response, Server, forward, json_response

OK = (200, b"done")


async def done(_: Request) -> Response:
    return Response(200, b"done", {"X-Who": "handler"})


@contextmanager
def connection_to(server: Server) -> Generator[http.client.HTTPConnection]:
    host, port = server.url.removeprefix("http://").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE)) as made:
        yield made


def ask(server: Server, path: str = "/", region: str = "", method: str = "POST") -> tuple[int, bytes]:
    """Return status and body of one request; the status is 0 if the connection ends, and -1 if it is reset."""
    with connection_to(server) as caller:
        scope = f"Credential=key/20260101/{region}/dynamodb/aws4_request"
        caller.request(method, path, b"{}", {"Authorization": scope, "X-Amz-Target": "DynamoDB_20120810.GetItem"})
        try:
            response = caller.getresponse()
        except http.client.RemoteDisconnected:
            return 0, b""
        except ConnectionResetError:
            return -1, b""
        try:
            return response.status, response.read()
        except http.client.IncompleteRead as cut:
            return response.status, cut.partial


def half(response: Response) -> Reply:
    return response.encode()[:-2]


@pytest.mark.parametrize(
    ("fault", "expected", "carried_out"),
    [
        (Fault(), OK, True),
        (Fault(delay=(0.001, 0.002)), OK, True),
        (Fault(end="close"), (0, b""), False),
        (Fault(end="reset"), (-1, b""), False),
        (Fault(carried_out=True, end="close"), (0, b""), True),
        (Fault(replies=(Response(503, b"no"),)), (503, b"no"), False),
        (Fault(replies=(Response(503, b"no"),), carried_out=True), (503, b"no"), True),
        (Fault(carried_out=True, edit=lambda response: Response(201, response.body * 2)), (201, b"donedone"), True),
        (Fault(carried_out=True, edit=half, end="close"), (200, b"do"), True),
        (Fault(replies=(b"SSH-2.0-OpenSSH_9.2\r\n\r\n",), end="close"), None, False),
    ],
)
def test_a_fault_is_what_the_caller_gets(fault: Fault, expected: tuple[int, bytes] | None, carried_out: bool) -> None:
    calls: list[Request] = []

    async def handler(request: Request) -> Response:
        calls.append(request)
        return await done(request)

    with Server(handler, [fault]) as server:
        if expected is None:
            with pytest.raises(http.client.BadStatusLine):
                ask(server)
        else:
            assert ask(server) == expected

    assert len(calls) == carried_out
    assert len(server.requests) == 1


def test_a_request_is_known_by_its_parts() -> None:
    with Server(done) as server:
        ask(server, "/orders?count=2", "eu-west-1", "PUT")

    (request,) = server.requests
    assert (request.method, request.path, request.document) == ("PUT", "/orders?count=2", {})
    assert (request.scope, request.operation) == (("eu-west-1", "dynamodb"), "GetItem")
    assert request.raw == request.head + b"{}"
    assert Request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").scope == ("", "")


def test_a_connection_stays_and_says_when_it_ends() -> None:
    """Otherwise its caller keeps it, and a call on it fails if it arrives just before the end."""
    with Server(done) as server, connection_to(server) as caller:
        for headers, expected in (({}, None), ({}, None), ({"Connection": "close"}, "close")):
            caller.request("POST", "/", b"{}", headers)
            response = caller.getresponse()
            assert response.read() == b"done"
            assert response.headers["Connection"] == expected
        assert caller.sock is None
        server.until(lambda: not server.open)

    assert (server.connections, len(server.requests)) == (1, 3)


def test_a_fault_strikes_only_what_it_is_about() -> None:
    no = (Response(503),)
    faults = [
        Fault(region="eu-west-1", replies=no),
        Fault(matches=lambda request: request.path == "/orders", replies=no),
        Fault("twice", matches=lambda request: request.path == "/twice", times=2, replies=no),
    ]
    with Server(done, faults, recording=False) as server:
        assert [ask(server, region=region)[0] for region in ("eu-west-1", "us-east-1")] == [503, 200]
        assert [ask(server, path)[0] for path in ("/orders", "/")] == [503, 200]
        assert [ask(server, "/twice")[0] for _ in range(4)] == [503, 503, 200, 200]
        server.faults.clear()
        assert ask(server, "/orders") == OK

    assert server.injected == {"twice": 2}
    assert server.requests == []


def test_the_first_fault_that_decides_has_its_way() -> None:
    seen: list[str] = []
    faults = [
        Fault(notify=lambda: seen.append("passes")),
        Fault(notify=lambda: seen.append("delays"), delay=(0, 0.001)),
        Fault(notify=lambda: seen.append("decides"), replies=(Response(503),)),
        Fault(notify=lambda: seen.append("never"), replies=(Response(500),)),
    ]
    with Server(done, faults) as server:
        assert ask(server)[0] == 503
        with server.failing(Fault(replies=(Response(429),))):
            assert ask(server)[0] == 429
        assert ask(server)[0] == 503
        with suppress(ZeroDivisionError), server.failing(Fault(replies=(Response(502),))):
            raise ZeroDivisionError
        assert ask(server)[0] == 502, "it stays if the block fails"

    assert seen == ["passes", "delays", "decides"] * 2


def test_chance_is_repeated_with_its_seed() -> None:
    def statuses(seed: int) -> list[int]:
        faults = [Fault(share=0.5, replies=tuple(map(Response, (500, 502, 503))))]
        with Server(done, faults, random=Random(seed)) as server:
            return [ask(server)[0] for _ in range(40)]

    first = statuses(1)
    assert first == statuses(1) != statuses(2)
    assert {*first} == {200, 500, 502, 503}


@pytest.mark.parametrize(
    ("faults", "carried_out"),
    [([Fault(hold=True), Fault(delay=(0.01, 0.01))], [True]), ([Fault(hold=True, end="close")], [])],
)
def test_a_request_is_held_until_its_caller_hangs_up(faults: list[Fault], carried_out: list[bool]) -> None:
    """It may then be carried out late, without its caller."""
    calls: list[bool] = []

    async def handler(request: Request) -> Response:
        calls.append(request.gone())
        return await done(request)

    with Server(handler, faults) as server:
        with connection_to(server) as caller:
            caller.request("POST", "/", b"{}")
            server.until(lambda: bool(server.requests))
        server.until(lambda: not server.open)

    assert calls == carried_out


def test_a_request_is_held_until_its_fault_is_removed() -> None:
    held, later = Fault("held", hold=True), Fault(replies=(Response(503),))
    with Server(done, [held]) as server, connection_to(server) as caller:
        caller.request("POST", "/", b"{}")
        server.until(lambda: server.injected["held"] == 1)
        caller.sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            caller.sock.recv(1)
        caller.sock.settimeout(PATIENCE)
        server.faults[:] = [later]  # another one strikes it then
        assert caller.getresponse().status == 503


def test_what_drips_has_no_end() -> None:
    drips = Fault(replies=(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",), drip=b"x", every=0.001)
    with Server(done, [drips]) as server, connection_to(server) as caller:
        caller.request("GET", "/")
        response = caller.getresponse()
        assert response.read(20) == b"x" * 20


@pytest.mark.parametrize("fault", [Fault(hold=True), Fault(delay=(PATIENCE, PATIENCE)), Fault(drip=b"", every=0.01)])
def test_whatever_goes_on_ends_with_the_server(fault: Fault) -> None:
    with ExitStack() as stack:
        with Server(done, [fault]) as server:
            caller = stack.enter_context(connection_to(server))
            idle = stack.enter_context(socket.create_connection((caller.host, caller.port)))
            caller.request("POST", "/", b"{}")
            server.until(lambda: server.connections == 2 and len(server.requests) == 1)
            began = time.monotonic()
        assert time.monotonic() - began < PATIENCE / 2
        assert (caller.sock.recv(1), idle.recv(1)) == (b"", b"")


def test_waiting_in_vain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faulty_server, "PATIENCE", 0.01)

    with Server(done) as server, pytest.raises(TimeoutError):
        server.until(lambda: False)


def test_a_connection_without_trust_counts() -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with Server(done, tls=tls) as server:
        port = int(server.url.removeprefix("https://127.0.0.1:"))
        stranger = http.client.HTTPSConnection("127.0.0.1", port, context=ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError), closing(stranger):
            stranger.request("GET", "/")
        with closing(http.client.HTTPSConnection("127.0.0.1", port, context=trusting)) as caller:
            caller.request("GET", "/")
            assert caller.getresponse().read() == b"done"

    assert (server.connections, len(server.requests)) == (2, 1)


@contextmanager
def before(server: Server, path: str = "", **headers: str) -> Generator[Server]:
    """Yield a server that forwards to another one."""
    with Server(lambda request: forward(server.url + path, request, **headers)) as made:
        yield made


def test_a_request_is_forwarded_as_it_is() -> None:
    async def teapot(_: Request) -> Response:
        return json_response({"a": 1}, 418, {"X-Who": "other"})

    with Server(teapot) as other, before(other, "/prefix/", host="region") as server, connection_to(server) as caller:
        for _ in range(2):
            caller.request("PUT", "/orders?count=2", b'{"b": 2}', {"X-One": "1"})
            response = caller.getresponse()
            assert (response.status, response.read()) == (418, b'{"a": 1}')
            assert (response.headers["X-Who"], response.headers["Connection"]) == ("other", None)

    request = other.requests[0]
    assert (request.method, request.path, request.body) == ("PUT", "/prefix/orders?count=2", b'{"b": 2}')
    assert (request.headers["x-one"], request.headers["host"]) == ("1", "region")
    assert server.connections == 1


CHUNKED = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ndo\r\n2\r\nne\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("reply", "expected"), [(CHUNKED, OK), (CHUNKED[:-9], (0, b"")), (b"", (0, b"")), (b"SSH-2.0", (0, b""))]
)
def test_half_a_response_is_not_forwarded(reply: bytes, expected: tuple[int, bytes]) -> None:
    with Server(done, [Fault(replies=(reply,), end="close")]) as other, before(other) as server:
        assert ask(server) == expected


def test_a_server_that_is_not_there_is_no_response() -> None:
    with Server(done) as other:
        pass
    with before(other) as server:
        assert ask(server) == (0, b"")
