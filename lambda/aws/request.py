"""Write HTTP/1.1 requests (RFC 9112), signed for AWS."""

from collections.abc import Mapping
from functools import lru_cache

from .endpoint import Endpoint
from .signature import Credentials, signed


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
