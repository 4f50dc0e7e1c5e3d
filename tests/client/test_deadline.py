"""One deadline for an attempt: over all addresses of a name, over the resolver, and over every byte that arrives."""

import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest
from global_integers import Integers, Unavailable
from global_integers.minting.transport import Left, TimeLeft, keep_deadlines

from proof.faulty_server import Fault, Request, Server
from tests.client.clients import Tasks, resolve
from tests.client.region_proxies import HANG

NAME = "hole.test"
ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
SECONDS = 2.0


@pytest.fixture
def hole(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A URL whose name has four addresses that answer nothing: their backlogs are full."""
    with ExitStack() as stack:
        port = 0
        for address in ADDRESSES:
            listening = stack.enter_context(socket.socket())
            listening.bind((address, port))
            port = listening.getsockname()[1]
            listening.listen(0)
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                with suppress(BlockingIOError):
                    waiting.connect((address, port))
        resolve(monkeypatch, {NAME: ADDRESSES})
        yield f"http://{NAME}:{port}/"


DRIPS = Fault(replies=(b"HTTP/1.1 200 OK\r\n",), drip=b"X: y\r\n", every=0.1)
"""One header more every tenth of a second, without end."""

FLOODS = Fault(drip=b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, every=0)
"""Interim responses without end."""


async def nothing(_: Request) -> bytes:
    return b""


@pytest.fixture(params=["hole", "dripping", "flooding", "proxied"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    if request.param == "hole":
        yield request.getfixturevalue("hole")
        return
    with Server(nothing, [FLOODS if request.param == "flooding" else DRIPS]) as server:
        if request.param == "proxied":
            monkeypatch.setenv("HTTP_PROXY", server.url)
        yield "http://region.example/" if request.param == "proxied" else server.url


@pytest.mark.slow
def test_a_region_that_does_not_answer_costs_one_attempt(client: Callable[..., Any], url: str) -> None:
    """Without one deadline, the addresses alone cost four, and the others never end."""
    with client({"us-east-1": url}, attempt_timeout=SECONDS) as integers:
        began = time.monotonic()
        health = integers.health()["us-east-1"]
        assert time.monotonic() - began >= SECONDS * 0.9

    assert (health.ok, health.seconds) == (False, None)
    assert health.reason.partition(" (")[0] == f"no response within {SECONDS:.3g} s"


@pytest.mark.slow
def test_a_resolver_that_does_not_answer_costs_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def wait(*_: object, **__: object) -> Any:
        ended.wait(HANG)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    with Integers({"us-east-1": "http://nowhere.test/"}, attempt_timeout=SECONDS) as integers:
        assert integers.health() == {"us-east-1": (False, None, f"no response within {SECONDS:.3g} s")}
    ended.set()


def test_each_ip_address_has_an_even_share_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """No address answers, and time passes only while it is waited for."""
    waited: list[float] = []

    def connect(_: object, timeout: float, **__: object) -> Any:
        waited.append(timeout)
        raise TimeoutError

    resolve(monkeypatch, {NAME: ADDRESSES})
    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + sum(waited))
    with keep_deadlines(httpx.Client(trust_env=False)) as client, pytest.raises(httpx.ConnectTimeout):
        client.get(f"http://{NAME}/", extensions={"timeout": TimeLeft(8)})

    assert waited == [2, 2, 2, 2]


def test_what_is_left_is_never_nothing() -> None:
    """To httpx, 0 is no time-out for some steps."""
    assert Left(time.monotonic() - 5) == 0.001


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Integers, Tasks])
def test_who_refuses_a_connection_is_said_first(kind: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, {NAME: (), "several.test": ADDRESSES})
    names = {"eu-west-1": "127.0.0.1:1", "eu-west-2": NAME, "us-east-1": "several.test:1"}
    urls = {region: f"http://{name}/" for region, name in names.items()}
    with kind(urls, prefer="eu-west-1", timeout=4) as integers:
        with pytest.raises(Unavailable) as error:
            integers.next()
        assert {health.reason for health in integers.health().values()} == set(error.value.reasons.values())

    assert error.value.reasons == {
        "eu-west-1": "connection refused (127.0.0.1:1)",
        "eu-west-2": "Name or service not known (hole.test)",
        "us-east-1": "connection refused (several.test:1)",
    }
    assert "region succeeded within" in str(error.value).splitlines()[0]
    assert re.match(
        r"(eu-west-1|eu-west-2|us-east-1): (connection refused|Name or service not known) \(", str(error.value)
    )
    assert "it may have ended. `.venv/bin/python -m local up`" in str(error.value).splitlines()[-1]


class Plain(socketserver.BaseRequestHandler):
    """Answers a TLS handshake as a server of HTTP does."""

    def handle(self) -> None:
        """Answer what has arrived."""
        self.request.recv(1000)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


@pytest.mark.slow
def test_a_server_without_tls_is_called_so(client: Callable[..., Any]) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever).start()
        host = f"127.0.0.1:{server.server_address[1]}"
        with client({"eu-west-1": f"https://{host}/"}, timeout=5) as integers, pytest.raises(Unavailable) as error:
            integers.next()
        server.shutdown()

    assert error.value.reasons == {"eu-west-1": f"the server doesn't speak TLS; is http:// meant? ({host})"}
