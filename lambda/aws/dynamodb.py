"""DynamoDB, as far as minting needs it: one call of its JSON protocol."""

import json
from collections.abc import Mapping
from typing import Any

from .service import Service

TIMEOUT = 1.0
"""Seconds. A call takes some milliseconds; what takes a second is lost, and another try is cheaper than waiting."""


class DynamoDB:
    """One region's DynamoDB, over one kept connection."""

    def __init__(self, region: str | None = None) -> None:
        """`region`: the function's own if not given."""
        self._service = Service("dynamodb", region)

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """`call("UpdateItem", {"TableName": …})`: the answer, in DynamoDB's own JSON ({"N": "7"}).

        A call whose answer was lost is repeated, though it may have been carried out: a mint then mints
        another integer. A gap, never a duplicate.

        Raises:
            NoAnswer, ServiceError
        """
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        return self._service.post("/", headers, json.dumps(request).encode(), timeout=TIMEOUT).document or {}

    def close(self) -> None:
        self._service.close()
