"""An environment variable that is wrong is named, before anything is sent."""

import socketserver
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest
from global_integers import Integers
from global_integers.minting.environment import VARIABLES

from tests.client.clients import resolve
from tests.client.region_proxies import HANG, PATIENT

Client = Callable[..., Any]
URLS = {"eu-west-1": "http://127.0.0.1:1/"}

PROXIES = (
    "http://[::1",
    "http://proxy:port",
    "http://proxy:99999",
    "http://proxy:0",
    "ftp://proxy",
    "http://",
    "socks4://proxy",
    "http://user:12/word@proxy:3128",
)
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_wrong_variable_is_named(
    client: Client, name: str, value: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value.format(folder=folder))
    if "socks5" in value:
        monkeypatch.setitem(sys.modules, "socksio", None)
        monkeypatch.setattr("global_integers.minting.environment.find_spec", dict[str, Any]().get)
    events: list[object] = []
    with client(URLS, observer=events.append, **PATIENT) as integers:
        for call in (integers.next, integers.health, lambda: integers.take(2, key="k"), lambda: integers.owner(1)):
            with pytest.raises(ValueError, match=f"^the environment variable {name} is .* Nothing was sent"):
                call()

    assert events == []


PASSWORDS = ("secret", "secret/x", "s/secret", "1/secret", "secret#x", "1#secret", "1?secret", "@secret", "secret//")


@pytest.mark.parametrize("scheme", ["", "http://", "ftp://", "HTTPS://", "user:secret://"])
@pytest.mark.parametrize("password", [*PASSWORDS, "secret\nx"])
def test_a_password_is_not_shown(scheme: str, password: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}user:{password}@127.0.0.1:port")
    with pytest.raises(ValueError, match=r"^the environment variable HTTPS_PROXY is '.*127\.0\.0\.1:port': ") as wrong:
        Integers(URLS).next()

    assert "secret" not in str(wrong.value)
    assert "user" not in str(wrong.value).partition(": ")[0]


@pytest.mark.slow
def test_the_proxy_that_fails_is_named(client: Client, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The region's name isn't even looked up."""
    resolve(monkeypatch, {"proxy.test": ()})
    for proxy, said in {
        "user:s3cret@127.0.0.1:1": "connection refused (region.example through the proxy http://127.0.0.1:1)",
        "https://proxy.test": "Name or service not known (region.example through the proxy https://proxy.test)",
        "http://[::1]:1": "connection refused (region.example through the proxy http://[::1]:1)",
    }.items():
        monkeypatch.setenv("HTTP_PROXY", proxy)
        with client({"eu-west-1": "http://region.example/"}, **PATIENT) as integers:
            assert integers.health()["eu-west-1"].reason == said


def test_a_proxy_that_refuses_is_named(client: Client, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: socketserver.StreamRequestHandler) -> None:
        request.connection.recv(10_000)
        request.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    handler = type("Refuses", (socketserver.StreamRequestHandler,), {"handle": refuse})
    with socketserver.TCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        proxy = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with client({"eu-west-1": "https://region.example/"}, **PATIENT) as integers:
            reason = integers.health()["eu-west-1"].reason
        thread.join(HANG)

    assert reason == f"ProxyError: 407 Proxy Authentication Required (region.example through the proxy {proxy})"


def health(client: Client, **options: Any) -> str:
    """Return why the region is unhealthy, where nothing listens."""
    with client(URLS, **PATIENT, **options) as integers:
        return integers.health()["eu-west-1"].reason


OVERRULED = {
    "SSL_CERT_DIR": "{folder}/none",
    "SSL_CERT_FILE": certifi.where(),
    "HTTP_PROXY": "ftp://proxy",
    "NO_PROXY": "localhost, *",
}


@pytest.mark.parametrize("variables", [RIGHT, OVERRULED], ids=["right", "overruled"])
def test_what_is_right_or_overruled_is_accepted(
    client: Client, variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(folder=folder))

    assert health(client) == "connection refused (127.0.0.1:1)"


def test_an_http_client_of_ones_own_is_ones_own_matter(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", f"{folder}/none")

    assert health(Integers, http=lambda: httpx.Client(trust_env=False)) == "connection refused (127.0.0.1:1)"
