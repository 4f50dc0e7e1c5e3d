"""Checks the environment variables that decide how requests are sent: proxies and certificates.

httpx and OpenSSL read them. What is wrong with one is otherwise an error of theirs, which names no variable, or none
before every request fails. See `VARIABLES`.
"""

import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.request import getproxies

import httpx

from .options import without_password

HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
"""How OpenSSL looks for certificates in a directory (openssl-rehash(1))."""

PROXY = (
    "it should look like http://proxy.example.com:3128, with the scheme http, https, socks5 or socks5h, a host and a "
    "port from 1 to 65535; in a user or password, / ? # and @ are written %2F %3F %23 and %40"
)


def check_environment() -> None:
    """Check all variables that an HTTP client is about to read.

    Raises:
        ValueError: one is wrong. The message names it, and says what to do.
    """
    for name, check in VARIABLES.items():
        set_as, value = _found(name)
        try:
            if value:
                check(value)
        except (OSError, ValueError, httpx.InvalidURL) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ValueError(
                f"the environment variable {set_as} is {without_password(value)!r:.200}: {reason}. Nothing was sent: "
                "correct the variable, or remove it"
            ) from None


def _found(name: str) -> tuple[str, str]:
    """Return a variable's name as it is set, and its value, "" if it isn't in use. Proxies are named in any case."""
    scheme, _, kind = name.lower().partition("_")
    if kind != "proxy":
        overruled = name == "SSL_CERT_DIR" and os.environ.get("SSL_CERT_FILE")
        return name, "" if overruled else os.environ.get(name, "")
    proxies = getproxies()
    if "*" in _hosts(proxies.get("no", "")):  # no proxy at all
        return name, ""
    value = proxies.get(scheme, "")
    return next((key for key, of in os.environ.items() if key.lower() == name.lower() and of == value), name), value


def _certificates(path: str) -> None:
    import ssl

    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)


def _directories(paths: str) -> None:
    found = [path for path in paths.split(os.pathsep) if Path(path).is_dir()]
    if not found:
        raise ValueError("there is no such directory")
    if not any(HASHED.fullmatch(entry.name) for path in found for entry in Path(path).iterdir()):
        raise ValueError("there are no certificates that OpenSSL finds; run `openssl rehash` with the directory")


def _appendable(path: str) -> None:
    with Path(path).open("a", encoding="utf-8"):
        pass


def _proxy(url: str) -> None:
    try:
        proxy = httpx.Proxy(url if "://" in url else f"http://{url}")
    except (ValueError, httpx.InvalidURL):
        raise ValueError(PROXY) from None  # httpx's own words may have a part of the password
    port = proxy.url.port
    if not proxy.url.host or (port is not None and not 0 < port < 65536) or "@" in str(proxy.url):
        raise ValueError(PROXY)
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise ValueError('a SOCKS proxy needs another package: pip install "httpx[socks]"')


def _no_proxy(hosts: str) -> None:
    for host in _hosts(hosts):
        if "[" in host or (host.count(":") > 1 and "/" in host and "://" not in host):
            raise ValueError(
                f"{host!r} can't be used; an IPv6 address is written without brackets or prefix, as in ::1"
            )
        httpx.URL(host if "://" in host else f"all://[{host}]" if host.count(":") > 1 else f"all://*{host}")


def _hosts(text: str) -> list[str]:
    return [host.strip() for host in text.split(",") if host.strip()]


VARIABLES: Mapping[str, Callable[[str], None]] = {
    "SSL_CERT_FILE": _certificates,
    "SSL_CERT_DIR": _directories,
    "SSLKEYLOGFILE": _appendable,
    "HTTP_PROXY": _proxy,
    "HTTPS_PROXY": _proxy,
    "ALL_PROXY": _proxy,
    "NO_PROXY": _no_proxy,
}
"""Each variable, and what raises an error if its value is wrong."""
