"""What is sent to AWS, and where: endpoints, and HTTP/1.1 requests signed with Signature Version 4. No I/O.

The signature is described in the IAM guide, "Create a signed AWS API request".
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from functools import lru_cache
from posixpath import normpath
from time import gmtime, strftime
from typing import NamedTuple

DOMAINS = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
"""Domains of the partitions other than `aws` and `aws-us-gov`, by the prefix of their regions."""

UNSUPPORTED = ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
"""Variables by which AWS's own clients choose endpoints. The names of those differ by region and service."""

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Bytes that are not percent-encoded (RFC 3986, section 2.3)."""


class Endpoint(NamedTuple):
    """Where a service is; `secure` means TLS. Every path begins with `path`, which has no `/` at its end."""

    secure: bool
    host: str
    port: int
    path: str = ""

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def endpoint_of(service: str, region: str, environment: Mapping[str, str]) -> Endpoint:
    """Return `AWS_ENDPOINT_URL_<SERVICE>`, else `AWS_ENDPOINT_URL`, else AWS's own endpoint in the region.

    Raises:
        ValueError: one of them is not an http or https URL, or one of `UNSUPPORTED` is set.
    """
    for variable in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
        if url := environment.get(variable):
            return parsed(variable, url)
    for variable in UNSUPPORTED:
        if environment.get(variable, "").lower() == "true":
            raise ValueError(
                f"{variable}: is not supported; remove it, or set AWS_ENDPOINT_URL_{service.upper()} to the endpoint, "
                f"like https://{service}-fips.us-east-1.amazonaws.com"
            )
    domain = next((domain for prefix, domain in DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return Endpoint(secure=True, host=f"{service}.{region}.{domain}", port=443)


def parsed(variable: str, url: str) -> Endpoint:
    """Return what is at a URL, or raise `ValueError`, which names where it comes from."""
    # urllib.parse would take 2 ms to import.
    found = re.fullmatch(
        r"(https?)://(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?(/[!-~]*)?", url, re.IGNORECASE
    )
    if not found or any(mark in url for mark in "?#"):
        raise ValueError(f"{variable}: {url!r} is not a URL like http://127.0.0.1:4566 or https://example.com")
    scheme, address, name, port, path = found.groups()
    secure = scheme.lower() == "https"
    host = (address or name).lower()
    return Endpoint(secure, host, int(port) if port else 443 if secure else 80, (path or "").rstrip("/"))


class Credentials(NamedTuple):
    """An access key. A user's own has no session `token`."""

    access_key: str
    secret_key: str
    token: str = ""


@lru_cache(maxsize=8)
def signed(
    method: str,
    endpoint: Endpoint,
    path: str,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    credentials: Credentials,
    region: str,
    service: str,
    second: int,
) -> bytes:
    """Return a signed request as it is sent. It works for every service except S3, which signs paths as they are.

    The signature holds its time in whole seconds, so all mints of a counter in one second send the same bytes. They
    are made once and kept.

    `path` is below the endpoint's own, encoded. No name of `headers` may repeat, or be one that an intermediary may
    change. `second` is the time of the signature since 1970.

    Raises:
        ValueError: a header is not one line of ASCII.
    """
    path = endpoint.path + path
    moment = strftime("%Y%m%dT%H%M%SZ", gmtime(second))
    sent = {"Host": endpoint.authority, **dict(headers), "X-Amz-Date": moment}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token

    named = sorted((name.lower(), " ".join(value.split())) for name, value in sent.items())
    names = ";".join([name for name, _ in named])
    each = [f"{name}:{value}" for name, value in named]
    canonical = "\n".join([method, canonical_path(path), "", *each, "", names, hashlib.sha256(body).hexdigest()])

    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.digest(signing_key(credentials.secret_key, scope), text.encode(), "sha256").hex()
    sent["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )

    # The response's checksum is that of the body as it is sent, so compression is refused. An intermediary may change
    # this header: it isn't signed.
    lines = [f"{name}: {value}" for name, value in {"Accept-Encoding": "identity", **sent}.items()]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""])
    if not head.isascii() or head.count("\n") != len(lines) + 3:
        raise ValueError("a header is not one line of ASCII; is an AWS_… variable set to something else?")
    return head.encode() + body


@lru_cache(maxsize=64)
def signing_key(secret: str, scope: str) -> bytes:
    """Return the signing key of a day, region and service. The cache saves four of a request's five HMACs."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def canonical_path(path: str) -> str:
    """Return a path without `.`, `..` and empty segments, and encoded once more, as AWS signs it."""
    normal = normpath("/" + path.lstrip("/"))
    end = "/" * (path.endswith("/") and normal != "/")
    return "/".join(map(encoded, normal.split("/"))) + end


def encoded(text: str) -> str:
    """Return text percent-encoded, except letters, digits, `-`, `.`, `_` and `~`."""
    return "".join([chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode()])
