"""The table did as it was told, but the answer was lost: a gap, never a duplicate."""

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.lambda_.aws.faulty_server import FaultyServer, Turn
from tests.lambda_.laying_out import deploy


def passes_on(stack: Any, *, answer: bool) -> Turn:
    """To the real table; its answer is handed back, or lost."""
    real = urlsplit(str(stack.aws.endpoint))

    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        # The same bytes: the signature covers the Host that they name.
        with socket.create_connection((real.hostname, real.port)) as upstream:
            upstream.sendall(server.requests[-1].replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            received = b""
            while arrived := upstream.recv(65536):
                received += arrived
        if answer:
            connection.sendall(received)
        connection.close()

    return turn


def test_a_lost_mint_is_a_gap(ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    lost, good = passes_on(stack, answer=False), passes_on(stack, answer=True)
    with FaultyServer(lost, lost, good) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        integers = [ask("POST", "/", warm=True)["document"]["integer"] for _ in range(3)]

    assert integers == [7, 10, 13]  # 1 and 4 were minted, and nobody heard of them


def test_a_lost_block_is_a_gap(ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    lost, good = passes_on(stack, answer=False), passes_on(stack, answer=True)
    with FaultyServer(good, lost, good) as server:  # the first asks for stride and ceiling
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)

        assert ask("POST", "/?count=2", warm=True)["document"]["integers"] == [7, 10]


def test_a_receipt_put_by_a_lost_attempt_is_the_requests_own(
    ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    lost, good = passes_on(stack, answer=False), passes_on(stack, answer=True)
    with FaultyServer(good, good, lost, good) as server:  # look, mint, put, put again
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        first = ask("POST", "/", warm=True, idempotency_key="k")
        again = ask("POST", "/", warm=True, idempotency_key="k")

    assert [answer["document"]["integer"] for answer in (first, again)] == [1, 1]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
