"""Requests to AWS: HTTP/1.1 (RFC 9112), signed with Signature Version 4. No I/O.

The signature is described in the IAM guide, "Create a signed AWS API request".
"""

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache
from time import gmtime, strftime
from typing import NamedTuple

from .endpoint import Endpoint

UNSIGNED = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-amzn-trace-id",
    }
)
"""Headers that an intermediary may change. AWS's own clients don't sign them either."""

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Bytes that are not percent-encoded (RFC 3986, section 2.3)."""


class Credentials(NamedTuple):
    """An access key."""

    access_key: str
    secret_key: str
    token: str = ""
    """The session token; empty for a user's own key."""


def signed(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    credentials: Credentials,
    region: str,
    service: str,
    at: float,
) -> dict[str, str]:
    """Return `headers` with those that sign the request: X-Amz-Date, X-Amz-Security-Token and Authorization.

    It works for every service except S3, which doesn't normalize paths.

    Args:
        method: the request's method.
        path: encoded, as in the URL.
        query: encoded, as in the URL.
        headers: with `Host`; no name may repeat.
        body: the request's body.
        credentials: the key to sign with.
        region: the service's region.
        service: its name in signatures, for example `dynamodb`.
        at: the time of the signature, in seconds since 1970.
    """
    moment = strftime("%Y%m%dT%H%M%SZ", gmtime(at))
    day = moment[:8]
    sent = {**headers, "X-Amz-Date": moment}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token

    named = sorted((name.lower(), " ".join(value.split())) for name, value in sent.items())
    named = [(name, value) for name, value in named if name not in UNSIGNED]
    names = ";".join([name for name, _ in named])
    canonical = "\n".join(
        [
            method,
            canonical_path(path),
            canonical_query(query),
            *[f"{name}:{value}" for name, value in named],
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )

    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = signing_key(credentials.secret_key, day, region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    sent["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return sent


@lru_cache(maxsize=4)
def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """Return the signing key of a day, region and service. The cache saves four of a request's five HMACs."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def canonical_path(path: str) -> str:
    """Return a path without `.`, `..` and empty segments, and encoded once more, as AWS signs it."""
    if path in ("", "/"):
        return "/"
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(encoded(segment))
    first, last = "/" * path.startswith("/"), "/" * (path.endswith("/") and bool(segments))
    return first + "/".join(segments) + last


def canonical_query(query: str) -> str:
    """Return a query sorted by name, then by value. A name alone has an empty value."""
    if not query:
        return ""
    return "&".join([f"{name}={value}" for name, _, value in sorted(pair.partition("=") for pair in query.split("&"))])


def encoded(text: str) -> str:
    """Return text percent-encoded, except letters, digits, `-`, `.`, `_` and `~`."""
    return "".join([chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in text.encode()])


@lru_cache(maxsize=8)
def signed_post(
    endpoint: Endpoint,
    path: str,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    credentials: Credentials,
    region: str,
    service: str,
    second: int,
) -> bytes:
    """Return a signed POST request as it is sent.

    The signature holds its time in whole seconds, so all mints of a counter in one second send the same bytes. They
    are made once and kept.

    Args:
        endpoint: the service's.
        path: below the endpoint's own path, encoded.
        headers: besides those of the signature.
        body: the request's body.
        credentials: the key to sign with.
        region: the service's region.
        service: its name in signatures.
        second: the time of the signature, in seconds since 1970.

    Raises:
        ValueError: a header is not one line of ASCII.
    """
    path = endpoint.path + path
    # The response's checksum is that of the body as it is sent, so compression is refused.
    own = {"Host": endpoint.authority, "Accept-Encoding": "identity", **dict(headers)}
    sent = signed("POST", path, "", own, body, credentials=credentials, region=region, service=service, at=second)
    return _message("POST", path, sent, body)


def _message(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    if not head.isascii() or head.count("\n") != len(lines) + 2:
        raise ValueError("a header is not one line of ASCII; is an AWS_… variable set to something else?")
    return head.encode() + body
