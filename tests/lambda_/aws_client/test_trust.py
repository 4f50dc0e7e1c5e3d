"""Amazon's roots are read first, and all others when they are needed; nothing else is ever trusted."""

import hashlib
import ssl
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import botocore
import pytest
import trustme
from aws_client.connection import NoResponse, Trust, _first, trust
from aws_client.service import set_deadline

from proof.faulty_server import PATIENCE
from tests.lambda_.aws_client.faults import ANSWER, GOOD, answers, answers_and_closes, calling

AMAZON = {
    "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e": "Amazon Root CA 1",
    "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4": "Amazon Root CA 2",
    "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4": "Amazon Root CA 3",
    "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092": "Amazon Root CA 4",
    "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5": "Starfield Services Root CA - G2",
}
"""SHA-256 fingerprints ("Amazon Trust Services: Repository")."""

AMAZONS, COMPANYS, UNKNOWN = "Amazon Root CA 1", "A company", "Amazon Root CA 2"
AUTHORITIES = {name: trustme.CA(organization_name=name) for name in (AMAZONS, COMPANYS, UNKNOWN)}

Machine = Callable[..., None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, credentials: None) -> Generator[Machine]:
    """Make this machine trust some authorities and no others. Each call is made once."""
    file = tmp_path / "bundle.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setattr("aws_client.service.CONNECT_TIMEOUT", PATIENCE)
    monkeypatch.setattr("aws_client.service.ATTEMPTS", 1)

    def trusts(*names: str) -> None:
        file.write_bytes(b"# a comment\n".join(AUTHORITIES[name].cert_pem.bytes() for name in names))
        trust.cache_clear()

    yield trusts
    trust.cache_clear()


def certified(authority: trustme.CA, host: str = "127.0.0.1") -> ssl.SSLContext:
    """The TLS settings of a server with a certificate for a host."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.create_child_ca().issue_cert(host).configure_cert(context)
    return context


def read() -> set[str]:
    """Return the organizations of the roots that were read."""
    found = cast("list[dict[str, tuple[tuple[tuple[str, str], ...], ...]]]", trust().context.get_ca_certs())
    return {value for root in found for ((name, value),) in root["subject"] if name == "organizationName"}


@pytest.mark.parametrize(
    ("trusted", "by", "connections", "roots"),
    [
        ((AMAZONS, COMPANYS), AMAZONS, 3, {AMAZONS}),
        ((AMAZONS, COMPANYS), COMPANYS, 4, {AMAZONS, COMPANYS}),  # only the first call needs two
        ((COMPANYS,), COMPANYS, 3, {COMPANYS}),
    ],
)
def test_other_roots_than_amazons_are_read_when_they_are_needed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, trusted: list[str], by: str, connections: int, roots: set[str]
) -> None:
    machine(*trusted)
    with calling(monkeypatch, GOOD, tls=certified(AUTHORITIES[by])) as (server, dynamodb):
        for _ in range(3):
            assert dynamodb.call("UpdateItem", {}) == ANSWER
            dynamodb.close()

    assert (server.connections, read()) == (connections, roots)


def test_calls_share_a_connection_and_a_dead_one_is_replaced(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(AMAZONS)
    tls = certified(AUTHORITIES[AMAZONS])
    with calling(monkeypatch, GOOD, answers(GOOD), answers_and_closes(GOOD), tls=tls) as (server, dynamodb):
        assert [dynamodb.call("UpdateItem", {}) for _ in range(2)] == [ANSWER] * 2
        assert server.connections == 1
        server.until(lambda: not server.open)
        assert [dynamodb.call("UpdateItem", {}) for _ in range(2)] == [ANSWER] * 2

    assert server.connections == 2


def test_no_second_connection_is_made_after_the_deadline(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(AMAZONS, COMPANYS)

    def slow(_: Trust) -> None:
        set_deadline(SimpleNamespace(get_remaining_time_in_millis=lambda: 0))

    monkeypatch.setattr(Trust, "read_all", slow)
    with (
        calling(monkeypatch, GOOD, tls=certified(AUTHORITIES[COMPANYS])) as (server, dynamodb),
        pytest.raises(NoResponse, match="no time left"),
    ):
        dynamodb.call("UpdateItem", {})

    assert server.connections == 1


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        *((trustme.CA(organization_name=name), "127.0.0.1") for name in (AMAZONS, UNKNOWN, COMPANYS)),
        *((AUTHORITIES[name], "127.0.0.2") for name in (AMAZONS, COMPANYS)),
    ],
)
def test_an_untrusted_root_or_another_host_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, authority: trustme.CA, host: str
) -> None:
    machine(AMAZONS, COMPANYS)
    with calling(monkeypatch, GOOD, tls=certified(authority, host)) as (server, dynamodb):
        for connections in (2, 3):  # all roots are read once
            with pytest.raises(NoResponse, match="CERTIFICATE_VERIFY_FAILED"):
                dynamodb.call("UpdateItem", {})
            assert server.connections == connections

    assert server.requests == []


@pytest.mark.parametrize(
    "content", [None, b"", b"-----BEGIN CERTIFICATE-----\n\xff", b"\n-----BEGIN CERTIFICATE-----\nA"]
)
def test_a_file_that_cannot_be_read_has_no_first_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    file = tmp_path / "bundle.pem"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))

    assert _first(str(file)) == b""
    assert Trust().has_all
    assert Trust().context.verify_mode == ssl.CERT_REQUIRED


def test_the_settings_are_pythons_own(machine: Machine) -> None:
    machine(AMAZONS, COMPANYS)
    ours, default = trust().context, ssl.create_default_context()

    for name in ("verify_mode", "check_hostname", "verify_flags", "options", "minimum_version", "maximum_version"):
        assert getattr(ours, name) == getattr(default, name), name
    assert ours.verify_mode == ssl.CERT_REQUIRED


def test_the_first_roots_of_a_usual_bundle_are_amazons_five() -> None:
    bundle = Path(botocore.__file__).with_name("cacert.pem")
    context = ssl.create_default_context(cadata=_first(str(bundle)))

    assert {hashlib.sha256(der).hexdigest() for der in context.get_ca_certs(binary_form=True)} == set(AMAZON)
