"""Over TLS as at AWS: only who can prove to be the endpoint is talked to."""

import ssl
from collections.abc import Generator
from pathlib import Path

import aws.service
import pytest
import trustme
from aws.dynamodb import DynamoDB
from aws.failure import Unsent

from tests.lambda_.aws.faulty_server import FaultyServer, answers, answers_and_closes, whole

GOOD = whole({"Attributes": {}})


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, credentials: None) -> Generator[trustme.CA]:
    """A certificate authority that this machine trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    aws.service._tls_context.cache_clear()
    yield made
    aws.service._tls_context.cache_clear()


def certified(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


def test_calls_share_one_connection(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD), tls=certified(authority, "127.0.0.1")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        dynamodb = DynamoDB()
        for _ in range(5):
            assert dynamodb.call("UpdateItem", {}) == {"Attributes": {}}
        dynamodb.close()

    assert (server.connections, len(server.requests)) == (1, 5)


def test_one_that_died_while_idle_is_replaced(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws.service, "ATTEMPTS", 1)
    with FaultyServer(
        answers_and_closes(GOOD), answers(GOOD), tls=certified(authority, "127.0.0.1")
    ) as server:  # fmt: skip
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        dynamodb = DynamoDB()
        dynamodb.call("UpdateItem", {})
        assert server.closed.wait(5)
        dynamodb.call("UpdateItem", {})
        dynamodb.close()

    assert server.connections == 2


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2", "dynamodb.eu-west-1.amazonaws.com"])
def test_another_name_is_not_talked_to(authority: trustme.CA, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD), tls=certified(authority, name)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(Unsent, match="CERTIFICATE_VERIFY_FAILED"):
            DynamoDB().call("UpdateItem", {})

    assert server.requests == []


def test_a_certificate_of_somebody_else_is_not_trusted(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD), tls=certified(trustme.CA(), "127.0.0.1")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(Unsent, match="CERTIFICATE_VERIFY_FAILED"):
            DynamoDB().call("UpdateItem", {})

    assert server.requests == []
