"""DynamoDB's JSON protocol, as far as minting needs it."""

import json
from collections.abc import Mapping
from typing import Any, cast

from .failure import NoResponse
from .service import Service

TIMEOUT = 1.0
"""Seconds. A call takes a few milliseconds; after a second it is probably lost, and a retry is quicker than waiting."""


class DynamoDB:
    """One region's DynamoDB, over a connection that is kept open."""

    def __init__(self, region: str | None = None) -> None:
        """Prepare calls to DynamoDB in `region`, by default the function's own."""
        self._service = Service("dynamodb", region)

    def call(self, operation: str, request: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Call an operation and return its reply in DynamoDB's own JSON, for example `{"N": "7"}`.

        A call whose response was lost is retried although it may have been carried out. A mint then mints another
        integer, which leaves a gap but never a duplicate.

        Args:
            operation: for example `UpdateItem`.
            request: its request in DynamoDB's own JSON, encoded or not.

        Raises:
            NoResponse: the last attempt got no valid response.
            ServiceError: DynamoDB refused the call or failed.
        """
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        reply: Any = self._service.post("/", headers, body, timeout=TIMEOUT).document
        if not isinstance(reply, dict):  # otherwise an item would seem to be missing
            raise NoResponse("invalid response: no JSON object")
        return cast("dict[str, Any]", reply)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()
