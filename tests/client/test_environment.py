"""An environment variable that is wrong is named, before anything is sent."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest
from global_integers import AsyncIntegers, Integers
from global_integers.client.environment import VARIABLES

from local.paths import ROOT
from tests.client.region_proxies import PATIENT

Client = Callable[..., Any]
URLS = {"eu-west-1": "http://127.0.0.1:1/"}

PROXIES = ("http://[::1", "http://proxy:port", "http://proxy:99999", "ftp://proxy", "http://", "socks4://proxy")
WRONG: dict[str, tuple[str, ...]] = {
    "SSL_CERT_FILE": ("{folder}/none.pem", "{folder}", "{folder}/rubbish"),
    "SSL_CERT_DIR": ("{folder}/none", "{folder}/rubbish", "{folder}", "{folder}:{folder}/none"),
    "SSLKEYLOGFILE": ("{folder}/none/keys", "{folder}"),
    "HTTP_PROXY": (*PROXIES, "socks5://127.0.0.1:1"),
    "HTTPS_PROXY": (*PROXIES, "socks5h://127.0.0.1:1"),
    "ALL_PROXY": (*PROXIES, "socks5://127.0.0.1:1"),
    "NO_PROXY": ("[::1]", "localhost,[fd00::1]:80", "fd00::/8", "http://[", "a.test,b:c:d"),
}
RIGHT = {
    "SSL_CERT_FILE": "",
    "SSL_CERT_DIR": "",
    "SSLKEYLOGFILE": "{folder}/keys",
    "HTTP_PROXY": "proxy.test:3128",
    "HTTPS_PROXY": "http://user:secret@proxy.test:3128",
    "ALL_PROXY": "https://proxy.test",
    "NO_PROXY": "localhost,127.0.0.1,::1,10.0.0.0/8,.example.com,example.org,http://a.test",
}
CASES = [
    pytest.param(spelt, value, id=f"{spelt}-{value}")
    for name, values in WRONG.items()
    for spelt in ([name, name.lower()] if name.endswith("_PROXY") else [name])
    for value in values
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with a file that holds no certificate; and no variable is set."""
    (tmp_path / "rubbish").write_text("rubbish", encoding="ascii")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return str(tmp_path)


def test_every_variable_has_wrong_values() -> None:
    assert list(WRONG) == list(RIGHT) == list(VARIABLES)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_wrong_variable_is_named(
    client: Client, name: str, value: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value.format(folder=folder))
    if "socks5" in value:
        monkeypatch.setitem(sys.modules, "socksio", None)
        monkeypatch.setattr("global_integers.client.environment.find_spec", dict[str, Any]().get)
    events: list[object] = []
    with client(URLS, observer=events.append, **PATIENT) as integers:
        for call in (integers.next, integers.health, lambda: integers.take(2, key="k"), lambda: integers.owner(1)):
            with pytest.raises(ValueError, match=f"^the environment variable {name} is .* Nothing was sent"):
                call()

    assert events == []


def test_a_password_is_not_shown(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("http://user:secret@proxy:port", "user:secret@proxy:port"):
        monkeypatch.setenv("HTTPS_PROXY", value)
        with pytest.raises(ValueError, match="HTTPS_PROXY") as wrong:
            Integers(URLS).client._sender().client()
        assert "secret" not in str(wrong.value)


def test_right_values_are_accepted(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value.format(folder=folder))
    for kind in (Integers, AsyncIntegers):
        assert kind(URLS).client._sender().client()


def test_what_is_overruled_is_not_checked(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", f"{folder}/none")
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    monkeypatch.setenv("HTTP_PROXY", "ftp://proxy")
    monkeypatch.setenv("NO_PROXY", "localhost, *")

    Integers(URLS).client._sender().client().close()


def test_an_http_client_of_ones_own_is_ones_own_matter(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", f"{folder}/none")
    own = httpx.Client(trust_env=False)

    assert Integers(URLS, http=lambda: own).client._sender().client() is own
    own.close()


def test_the_command_counts_nothing_as_lost(folder: str) -> None:
    """It took a missing file of certificates for an output that can't be written."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client" / "src"), "SSL_CERT_FILE": f"{folder}/none.pem"}
    command = [sys.executable, "-m", "global_integers", "--urls", '{"eu-west-1": "http://127.0.0.1:1/"}', "mint"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)

    assert done.returncode == 2
    assert "SSL_CERT_FILE" in done.stderr
    assert "lost" not in done.stderr
    assert "Traceback" not in done.stderr
