"""A signal handler raises an error, forks or asks for the health anywhere in a call: all calls return.

Nothing is minted twice.
"""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from io import StringIO
from itertools import count
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from global_integers import Integers, Unavailable

from local.paths import ROOT
from proof.faulty_server import Request, Response, Server, json_response
from tests.client.clients import Lines, Tasks
from tests.client.region_proxies import HANG, PATIENT


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    """A server that stands for two regions."""
    integers = count(1)

    async def answer(request: Request) -> Response:
        region = "us-east-1" if request.headers["host"].startswith("localhost") else "eu-west-1"
        document: dict[str, Any] = {"region": region, "counter": "integers", "status": "ok"}
        if request.method == "POST":
            assert parse_qs(urlsplit(request.path).query)["count"] == ["1"]
            first = next(integers)
            document |= {"first": first, "last": first, "stride": 1, "count": 1}
        return json_response(document)

    with Server(answer, recording=False) as server:
        yield f"{server.url}/"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "call", "step"),
    [
        pytest.param("raises", "warm", 5, marks=pytest.mark.long),
        ("raises", "cold", 7),
        ("raises", "health", 1),
        pytest.param("forks", "warm", 23, marks=pytest.mark.long),
        pytest.param("forks", "cold", 61, marks=pytest.mark.long),
        pytest.param("forks", "health", 2, marks=pytest.mark.long),
        pytest.param("asks", "warm", 5, marks=pytest.mark.long),
        pytest.param("asks", "cold", 31, marks=pytest.mark.long),
        ("asks", "health", 1),
    ],
)
def test_a_call_is_interrupted_at_every_line(url: str, action: str, call: str, step: int) -> None:
    """`step`: every so many lines, where a call runs thousands of them."""
    command = [sys.executable, "-m", "tests.client.interrupted", action, call, str(step), url]
    path = os.pathsep.join([str(ROOT), str(ROOT / "client" / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=4 * HANG)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 25


def test_health_ends_although_its_threads_wait() -> None:
    """A signal handler may come where its thread holds a lock of others, such as one of `logging`."""
    log, handler = logging.getLogger("global_integers"), logging.StreamHandler(StringIO())
    found, logs = SimpleQueue[Any](), threading.Event()
    assert handler.lock is not None
    handler.addFilter(lambda _: logs.set() or True)
    handler.setLevel(logging.WARNING)
    log.addHandler(handler)

    def elsewhere(call: Callable[[], object]) -> Any:
        def work() -> None:
            try:
                found.put(call())
            except Unavailable as error:
                found.put(error)

        threading.Thread(target=work, daemon=True).start()
        return found.get(timeout=HANG)

    try:
        with Integers({"eu-west-1": "http://127.0.0.1:1/"}, timeout=0.2) as integers:
            with handler.lock:  # the failure is logged
                assert elsewhere(integers.health) == {"eu-west-1": (False, None, "no response within 0.2 s")}
                assert logs.wait(HANG)
                assert isinstance(elsewhere(integers.next), Unavailable), "other calls go on"
            assert integers.health()["eu-west-1"].reason == "connection refused (127.0.0.1:1)"
    finally:
        log.removeHandler(handler)


@pytest.mark.long
def test_after_an_interruption_connections_are_shared(url: str) -> None:
    """An exception of a signal handler left the thread as one that needs an HTTP client for each call."""
    made: list[httpx.Client] = []

    def make() -> httpx.Client:
        made.append(httpx.Client(trust_env=False))
        return made[-1]

    def interrupt() -> None:
        raise Interrupted

    with Integers({"eu-west-1": url}, http=make, **PATIENT) as integers:
        integers.next()
        with Lines() as ran:
            integers.next()
        for at in range(ran.count - 60, ran.count + 1):
            with suppress(Interrupted), Lines(at, act=interrupt):
                integers.next()
            integers.next()
            before = len(made)
            integers.next()
            assert len(made) == before


class Interrupted(Exception):
    """What a signal handler raises, such as Celery's SoftTimeLimitExceeded."""


@pytest.mark.parametrize("error", [Interrupted, OSError, MemoryError])
def test_after_an_error_of_others_another_http_client_is_used(
    client: Callable[..., Any], error: type[Exception]
) -> None:
    made: list[Any] = []
    block = {"region": "eu-west-1", "counter": "integers", "first": 1, "last": 1, "stride": 1, "count": 1}

    class Transport(httpx.MockTransport):
        closed = False

        def close(self) -> None:
            self.closed = True

        async def aclose(self) -> None:
            self.closed = True

    def make() -> Any:
        def respond(_: httpx.Request) -> httpx.Response:
            if len(made) == 1:
                raise error
            return httpx.Response(200, json=block)

        made.append(Transport(respond))
        kind = httpx.AsyncClient if client is Tasks else httpx.Client
        return kind(transport=made[-1])

    with client({"eu-west-1": "http://eu-west-1.test/"}, http=make, **PATIENT) as integers:
        if error is not OSError:  # that may be the network's: the region failed, and is asked again
            with pytest.raises(error):
                integers.next()
        assert integers.next() == 1

    assert [transport.closed for transport in made] == [False, True]
