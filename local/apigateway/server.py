"""API Gateway on this machine: `python -m local.apigateway.server <port> <folder> <endpoint>`, a small process.

The local AWS server's own API Gateway doesn't render mapping templates well enough. So this serves the APIs that a
deployment defines, by their own templates, and calls that server's DynamoDB with the credentials of their role.
"""

import http.client
import json
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from .rest_api import Call, GatewayRequest, GatewayResponse, call_of, gateway_response, response_of

INTEGRATION_TIMEOUT = 29
"""Seconds (API Gateway guide, "Amazon API Gateway quotas": the maximum integration timeout)."""

TYPES = ("application/x-amz-json-1.0", "application/json")
"""Of bodies that DynamoDB reads (DynamoDB guide, "DynamoDB low-level API")."""

SESSION_SECONDS = 3600
"""How long a role's credentials are valid."""

FORBIDDEN = GatewayResponse(403, {"Content-Type": "application/json"}, '{"message": "Forbidden"}')
"""For an API that doesn't exist."""


class GatewayServer:
    """All APIs of a folder: `<id>.json` is the OpenAPI document of one, read at each request."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self._roles: dict[str, tuple[Credentials, float]] = {}
        """Role → its credentials, and when they were given out."""
        self._lock = Lock()

    def respond(self, method: str, target: str, headers: Mapping[str, str], body: str) -> GatewayResponse:
        """Return the response to a request of `/<id>/<stage>/<path>`."""
        url = urlsplit(target)
        _, api_id, _, *rest = [*url.path.split("/"), "", ""]
        path = "/" + "/".join(rest).strip("/") if rest else "/"
        try:
            api = json.loads((self._folder / f"{Path(api_id).name}.json").read_text())
        except FileNotFoundError:
            return FORBIDDEN
        query = parse_qs(url.query, keep_blank_values=True)
        call = call_of(api, GatewayRequest(method, path, query, headers, body))
        if isinstance(call, GatewayResponse):
            return call
        try:
            return response_of(call, *self._make(call))
        except OSError:
            return gateway_response(api, "INTEGRATION_FAILURE")

    def _make(self, call: Call) -> tuple[int, str]:
        """Return the status and body of DynamoDB's response. It refuses other types of bodies, as AWS's does."""
        if call.content_type not in TYPES:
            return 404, "<UnknownOperationException/>"
        region, service, action = call.target
        request = AWSRequest(
            "POST",
            self._endpoint,
            data=call.body.encode(),
            headers={
                "Content-Type": call.content_type,
                "X-Amz-Target": f"DynamoDB_20120810.{action}",
            },
        )
        SigV4Auth(self._credentials(call.role), service, region).add_auth(request)
        connection = http.client.HTTPConnection(urlsplit(self._endpoint).netloc, timeout=INTEGRATION_TIMEOUT)
        try:
            connection.request("POST", "/", call.body.encode(), dict(request.headers.items()))
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def _credentials(self, role: str) -> Credentials:
        """Return a role's credentials, renewed long before they expire."""
        with self._lock:
            if role not in self._roles or time.monotonic() - self._roles[role][1] > SESSION_SECONDS / 2:
                client = cast("Any", boto3).client(
                    "sts",
                    region_name="us-east-1",
                    endpoint_url=self._endpoint,
                    aws_access_key_id="test",
                    aws_secret_access_key="test",
                )
                session = client.assume_role(RoleArn=role, RoleSessionName="gateway", DurationSeconds=SESSION_SECONDS)[
                    "Credentials"
                ]
                keys = Credentials(session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"])
                self._roles[role] = keys, time.monotonic()
            return self._roles[role][0]


def serve(port: int, gateway: GatewayServer) -> None:
    """Serve on 127.0.0.1 until the process is ended."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            length = self.headers.get("Content-Length") or "0"
            malformed = self.headers.defects or not (length.isascii() and length.isdigit())
            if malformed or "Transfer-Encoding" in self.headers or "%00" in self.path:
                self.close_connection = True
                self.send_error(400)
                return
            body = self.rfile.read(int(length)).decode(errors="replace")
            response = gateway.respond(self.command, self.path, dict(self.headers.items()), body)
            data = response.body.encode()
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = respond  # noqa: N815

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing: the log is for errors."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), GatewayServer(Path(sys.argv[2]), sys.argv[3]))
