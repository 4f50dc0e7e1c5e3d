"""The stack's domain on this machine: `python -m local.domain.domain_server <port> <endpoint>`, a small process.

It stands for DNS, for Route 53's health checkers, and for API Gateway's regional names. It takes a request for a host
name, decides by the records which region answers, and passes the request on to that region's API. It has no TLS.
"""

import http.client
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from threading import Thread
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ..paths import LocalError
from ..server.process import ServedResponse, serve
from . import zone
from .zone import FROM, answer

HERE = "us-east-1"
"""Where callers are that don't send the header `FROM`."""

INTEGRATION_TIMEOUT = 30
"""Seconds (API Gateway guide, "Quotas for configuring and running an HTTP API": the maximum integration timeout)."""

NOT_PASSED_ON = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers between two neighbours (RFC 9110, section 7.6.1)."""


INTERVAL = 2.0
"""Seconds between two requests of a check: shorter than the 10 s that are registered, so that nobody waits long."""

TIMEOUT = 6.0
"""Seconds that a response may take (Route 53 guide, "How Amazon Route 53 determines whether a health check is
healthy": 4 s to connect, 2 s to respond)."""


class Health:
    """The status of every check. A new one is healthy until it has failed."""

    def __init__(self) -> None:
        self._unhealthy: set[str] = set()
        self._against: dict[str, int] = {}
        """Check → how many results in a row spoke against its status."""

    def healthy(self, check: str) -> bool:
        """Return a check's status, by its id."""
        return check not in self._unhealthy

    def count(self, check: str, threshold: int, *, healthy: bool) -> None:
        """Count one result. As many in a row as the threshold says change the status."""
        against = 0 if healthy == self.healthy(check) else self._against.get(check, 0) + 1
        if against >= threshold:
            (self._unhealthy.discard if healthy else self._unhealthy.add)(check)
            against = 0
        self._against[check] = against


class DomainServer:
    """All names of a domain, and the health of its regions. `endpoint` is the local AWS server's URL."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._health = Health()

    def keep_checking(self) -> NoReturn:
        """Ask all checks at the same time, every `INTERVAL` seconds."""
        with ThreadPoolExecutor(32) as pool:
            while True:
                time.sleep(INTERVAL)
                with suppress(LocalError):  # somebody has damaged a stack's state
                    checks = zone.read(self._endpoint).checks
                    for check, healthy in zip(checks, pool.map(self._ask, checks), strict=True):
                        self._health.count(check["id"], check["failureThreshold"], healthy=healthy)

    def take(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> ServedResponse:
        """Return the response to a request as it arrives."""
        if target == "*":  # a request to this process itself (RFC 9112, section 3.2.4)
            return ServedResponse(204, {}, b"")
        joined = _joined(headers)
        host = joined.get("host", "").partition(":")[0].lower()
        return self.respond(method, host, target, joined, body)

    def respond(
        self,
        method: str,
        host: str,
        target: str,
        headers: dict[str, str],
        body: bytes,
        timeout: float = INTEGRATION_TIMEOUT,
    ) -> ServedResponse:
        """Return the response to a request. A host that isn't the domain or below it counts as the shared one."""
        known = zone.read(self._endpoint)
        if host != known.domain and not host.endswith(f".{known.domain}"):
            host = known.domain
        record = answer(known.records, host, headers.pop(FROM, HERE), self._health.healthy)
        if record is None:
            names = ", ".join(sorted({record.host for record in known.records}))
            return _said(404, f"there is no record for {host}; there is {names or 'none at all'}")
        api = known.apis.get(record.target)
        if api is None:
            return _said(403, "Forbidden")  # as API Gateway responds to a name that leads nowhere
        url = api.url
        if api.signed and "authorization" in headers:
            if [other.host for other in known.records].count(host) > 1:
                return _said(501, f"here, only one region can check a signature: sign for {record.region}.{host}")
            # The signature covers the path, so the request must arrive as it was sent. The server knows the name.
            url = self._endpoint
        response = _pass_on(method, url, target, headers, body, timeout)
        if not _of_lambda(response):
            return response
        # API Gateway's own response takes its place, for the same pages of other origins.
        origins = {name: value for name, value in response.headers.items() if name.startswith("access-control-")}
        return replace(api.failed, headers={**api.failed.headers, **origins})

    def _ask(self, check: Mapping[str, Any]) -> bool:
        response = self.respond("GET", check["fqdn"], check["resourcePath"], {"host": check["fqdn"]}, b"", TIMEOUT)
        return 200 <= response.status < 400


def _joined(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return headers that are passed on, by lower-case names. API Gateway joins those of one name."""
    joined: dict[str, str] = {}
    for name, value in ((name.lower(), value) for name, value in headers):
        if name not in NOT_PASSED_ON:
            joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _pass_on(
    method: str, api: str, target: str, headers: Mapping[str, str], body: bytes, timeout: float
) -> ServedResponse:
    """Return an API's response. Each step of the exchange may take `timeout` seconds."""
    to = urlsplit(api)
    connection = http.client.HTTPConnection(to.netloc, timeout=timeout)
    try:
        connection.request(method, to.path + target, body, headers)
        response = connection.getresponse()
        content = response.read()
        return ServedResponse(response.status, _joined(response.getheaders()), content)
    except TimeoutError:
        return _said(504, "Endpoint request timed out")
    except (OSError, http.client.HTTPException):
        return _said(502, "Internal server error")
    finally:
        connection.close()


def _of_lambda(response: ServedResponse) -> bool:
    """Return whether this is Lambda's own error, which API Gateway keeps to itself: the function wasn't called.

    The response to HEAD has no body. But the function itself never answers 429.
    """
    throttled = response.status == HTTPStatus.TOO_MANY_REQUESTS
    return throttled or (response.status >= HTTPStatus.BAD_REQUEST and b'"__type"' in response.body)


def _said(status: int, message: str) -> ServedResponse:
    return ServedResponse(status, {"Content-Type": "application/json"}, json.dumps({"message": message}).encode())


if __name__ == "__main__":
    domain = DomainServer(sys.argv[2])
    Thread(target=domain.keep_checking, daemon=True).start()
    serve(int(sys.argv[1]), domain.take)
