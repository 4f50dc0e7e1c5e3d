"""API Gateway on this machine: `python -m local.apigateway.rest_api_server <port> <endpoint>`, a small process.

The local AWS server's own API Gateway doesn't render mapping templates well enough. So this serves the APIs that a
deployment defines, by their own templates, and calls that server's DynamoDB with the credentials of their role.
"""

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import DeferredRefreshableCredentials, create_assume_role_refresher
from botocore.exceptions import BotoCoreError, ClientError
from botocore.httpsession import URLLib3Session

from ..aws_clients import ANYWHERE, Aws
from ..server.process import ServedResponse, serve
from . import documents
from .rest_api import Document, GatewayRequest, gateway_response, respond

INTEGRATION_TIMEOUT = 29
"""Seconds (API Gateway guide, "Amazon API Gateway quotas": the maximum integration timeout)."""

TYPES = ("application/x-amz-json-1.0", "application/json")
"""Of bodies that DynamoDB reads (DynamoDB guide, "DynamoDB low-level API")."""

FORBIDDEN = ServedResponse(403, {"Content-Type": "application/json"}, b'{"message": "Forbidden"}')
"""For an API or a stage that doesn't exist."""


class GatewayServer:
    """All APIs of a folder: `<id>/<stage>.json` is the OpenAPI document that a stage serves, read at each request."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self._session = URLLib3Session(timeout=INTEGRATION_TIMEOUT)

    def respond(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> ServedResponse:
        """Return the response to a request of `/<id>/<stage>/<path>`."""
        url = urlsplit(target)
        _, api_id, stage, *rest = [*url.path.split("/"), "", ""]
        path = "/" + "/".join(rest).strip("/") if rest else "/"
        try:
            served = self._folder / Path(api_id).name / f"{Path(stage).name}.json"
            api = json.loads(served.read_text())
        except FileNotFoundError:
            return FORBIDDEN
        query = parse_qs(url.query, keep_blank_values=True)
        request = GatewayRequest(method, path, query, dict(headers), body.decode(errors="replace"))
        try:
            return respond(api, request, self._send)
        except ClientError:  # the role can't be assumed
            return gateway_response(api, "API_CONFIGURATION_ERROR")
        except BotoCoreError:
            return gateway_response(api, "INTEGRATION_FAILURE")

    def _send(self, integration: Document, body: str, content_type: str) -> tuple[int, str]:
        """Return the status and body of DynamoDB's response. It refuses other types of bodies, as AWS's does."""
        if content_type not in TYPES:
            return 404, "<UnknownOperationException/>"
        _, _, _, region, service, action = integration["uri"].split(":")
        headers = {
            "Connection": "close",  # one that is kept may be closed just when it is used again
            "Content-Type": content_type,
            "X-Amz-Target": f"DynamoDB_20120810.{action.removeprefix('action/')}",
        }
        request = AWSRequest("POST", self._endpoint, data=body.encode(), headers=headers)
        credentials = _assumed(self._endpoint, integration["credentials"]).get_frozen_credentials()
        SigV4Auth(credentials, service, region).add_auth(request)
        response = self._session.send(request.prepare())
        return response.status_code, response.text


@cache
def _assumed(endpoint: str, role: str) -> DeferredRefreshableCredentials:
    """Return a role's credentials, which botocore renews before they expire."""
    sts = Aws(endpoint).client("sts", ANYWHERE)
    refresh = create_assume_role_refresher(sts, {"RoleArn": role, "RoleSessionName": "gateway"})
    return DeferredRefreshableCredentials(refresh, "assume-role")


if __name__ == "__main__":
    serve(int(sys.argv[1]), GatewayServer(documents(), sys.argv[2]).respond)
