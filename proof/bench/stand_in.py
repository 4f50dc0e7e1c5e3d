"""The DynamoDB in memory (`proof/simulation/dynamodb.py`) as the measured functions reach it: over HTTP.

One server answers for all regions: the region of a call is in its signature, which is not checked.
"""

import ssl
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from proof.simulation.dynamodb import Database, Request  # puts `lambda` on the import path, for the import below

# isort: split
from aws_client.service import ServiceError

from proof import faulty_server
from proof.faulty_server import Fault, Response, Server, json_response


@dataclass
class CountingDatabase(Database):
    """Counts how often each operation is called, too."""

    calls: Counter[str] = field(default_factory=Counter[str])

    def call(self, region: str, operation: str, request: Request | bytes) -> dict[str, Any]:
        """Count a call, and carry it out as a `Database` does."""
        self.calls[operation] += 1
        return super().call(region, operation, request)


def serving(database: Database, faults: Iterable[Fault] = (), tls: ssl.SSLContext | None = None) -> Server:
    """Return a server of a database, which keeps no requests."""

    async def handler(request: faulty_server.Request) -> Response:
        try:
            return json_response(database.call(request.scope[0], request.operation, request.document))
        except ServiceError as error:
            document = {"__type": f"com.amazonaws.dynamodb.v20120810#{error.code}", "message": error.message}
            reasons = [{"Code": reason} for reason in error.reasons]
            more = {"Item": error.item, "CancellationReasons": reasons}
            return json_response(document | {name: found for name, found in more.items() if found}, error.status)

    return Server(handler, faults, tls=tls, recording=False)
