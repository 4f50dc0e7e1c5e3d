"""API Gateway on this machine: `python -m local.apigateway.server <port> <folder> <endpoint>`, a small process.

The local AWS server has no mapping templates worth the name, so this serves the APIs that a deployment
defines, by their own templates, and asks that server's DynamoDB with the credentials of their role. It
knows what components/gateway_api.py uses: AWS integrations, request validation, gateway responses. It
doesn't throttle, and of a signed request it only looks whether it is signed.
"""

import http.client
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from .velocity import render

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: str


class GatewayServer:
    """All APIs of a folder: `<id>.json` is the OpenAPI document of one, read at each request."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self._roles: dict[str, Credentials] = {}
        self._lock = Lock()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: str) -> Answer:
        url = urlsplit(target)
        _, api, _, *rest = [*url.path.split("/"), "", ""]
        path = "/" + "/".join(rest).strip("/") if rest else "/"
        try:
            document = json.loads((self._folder / f"{Path(api).name}.json").read_text())
        except FileNotFoundError:
            return Answer(403, {"Content-Type": "application/json"}, '{"message": "Forbidden"}')
        route = _route(document, path)
        operation = document["paths"].get(route, {}).get(method.lower())
        if operation is None:
            return _gateway_response(document, "MISSING_AUTHENTICATION_TOKEN")
        if "security" in operation and not headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return _gateway_response(document, "MISSING_AUTHENTICATION_TOKEN")
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        wanted = [p["name"] for p in operation["parameters"] if p["in"] == "query" and p["required"]]
        if not all(query.get(name) for name in wanted):
            return _gateway_response(document, "BAD_REQUEST_PARAMETERS")
        in_path = {"counter": unquote(path[1:])} if "{" in route else {}
        parameters = {"path": in_path, "querystring": query, "header": headers}
        integration = operation["x-amazon-apigateway-integration"]
        content_type = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        template = integration["requestTemplates"].get(content_type)
        if template is None:
            return _gateway_response(document, "UNSUPPORTED_MEDIA_TYPE")
        try:
            status, told = self._ask(integration, render(template, parameters, body).text)
        except OSError:
            return _gateway_response(document, "INTEGRATION_FAILURE")
        return _answered(integration["responses"], status, told, parameters)

    def _ask(self, integration: Document, request: str) -> tuple[int, str]:
        """What DynamoDB answers, asked with the integration's role."""
        _, _, _, region, service, action = integration["uri"].split(":")
        signed = AWSRequest(
            "POST",
            self._endpoint,
            data=request.encode(),
            headers={
                "Content-Type": "application/x-amz-json-1.0",
                "X-Amz-Target": f"DynamoDB_20120810.{action.removeprefix('action/')}",
            },
        )
        SigV4Auth(self._role(integration["credentials"]), service, region).add_auth(signed)
        connection = http.client.HTTPConnection(urlsplit(self._endpoint).netloc, timeout=29)  # its longest
        try:
            connection.request("POST", "/", request.encode(), dict(signed.headers.items()))
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def _role(self, arn: str) -> Credentials:
        with self._lock:
            if arn not in self._roles:
                client = cast("Any", boto3).client(
                    "sts",
                    region_name="us-east-1",
                    endpoint_url=self._endpoint,
                    aws_access_key_id="test",
                    aws_secret_access_key="test",
                )
                given = client.assume_role(RoleArn=arn, RoleSessionName="gateway", DurationSeconds=43200)["Credentials"]
                self._roles[arn] = Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
            return self._roles[arn]


def _route(document: Document, path: str) -> str:
    """The path as the document names it: a fixed one before one with a variable."""
    if path in document["paths"] and "{" not in path:
        return path
    return "/{counter}" if path.count("/") == 1 and path != "/" else ""


def _answered(responses: Document, status: int, told: str, parameters: Mapping[str, Mapping[str, str]]) -> Answer:
    chosen = next((r for pattern, r in responses.items() if re.fullmatch(pattern, str(status))), responses["default"])
    ((content_type, template),) = chosen["responseTemplates"].items()
    rendered = render(template, parameters, told)
    fixed = {
        name.removeprefix("method.response.header."): value.strip("'")
        for name, value in chosen["responseParameters"].items()
    }
    return Answer(
        int(rendered.status or chosen["statusCode"]),
        {"Content-Type": content_type, **fixed, **rendered.headers},
        rendered.text,
    )


def _gateway_response(document: Document, kind: str) -> Answer:
    response = document["x-amazon-apigateway-gateway-responses"][kind]
    headers = {
        name.removeprefix("gatewayresponse.header."): value.strip("'")
        for name, value in response["responseParameters"].items()
    }
    ((content_type, template),) = response["responseTemplates"].items()
    return Answer(int(response["statusCode"]), {"Content-Type": content_type, **headers}, template)


def serve(port: int, gateway: GatewayServer) -> None:
    """Answer on 127.0.0.1 until the process is ended."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            given = self.headers.get("Content-Length") or "0"
            if not (given.isascii() and given.isdigit()) or "Transfer-Encoding" in self.headers or "%00" in self.path:
                self.close_connection = True
                self.send_error(400)
                return
            length = int(given)
            body = self.rfile.read(length).decode(errors="replace")
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = gateway.answer(self.command, self.path, headers, body)
            data = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer  # noqa: N815

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing: the log is for what goes wrong."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), GatewayServer(Path(sys.argv[2]), sys.argv[3]))
