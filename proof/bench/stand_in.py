"""The DynamoDB in memory (`proof/simulation/dynamodb.py`) as the measured functions reach it: over HTTP.

One server answers for all regions: the region of a call is in its signature, which is not checked.
"""

import ssl
from collections.abc import Iterable

from proof.simulation.dynamodb import Database  # puts `lambda` on the import path, for the import below

# isort: split
from aws_client.service import ServiceError

from proof.faulty_server import Fault, Request, Response, Server, json_response


def serving(database: Database, faults: Iterable[Fault] = (), tls: ssl.SSLContext | None = None) -> Server:
    """Return a server of a database, which keeps no requests."""

    async def handler(request: Request) -> Response:
        try:
            return json_response(database.call(request.scope[0], request.operation, request.document))
        except ServiceError as error:
            document = {"__type": f"com.amazonaws.dynamodb.v20120810#{error.code}", "message": error.message}
            more = {"Item": error.item, "CancellationReasons": [{"Code": reason} for reason in error.reasons]}
            return json_response(document | {name: found for name, found in more.items() if found}, error.status)

    return Server(handler, faults, tls=tls, recording=False)
