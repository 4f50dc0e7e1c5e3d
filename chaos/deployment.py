"""`python -m chaos.deployment <endpoint> <stack> key=value…` deploys the program and prints its outputs as JSON.

It is a process of its own, so that it can be killed at any moment. `CHAOS_DYNAMODB` is the endpoint of another
DynamoDB, such as DynamoDB Local. What that lacks, and a deployment asks for, is made up for here.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from local.engine import deploy
from local.paths import LocalError
from local.resources import Aws
from local.stack import configuration, project

LOCAL_REGION = ":ddblocal:"
"""The region in the ARNs of DynamoDB Local, whichever region its tables are in. On AWS it is the table's own."""

LACKING: dict[str, Mapping[str, Any]] = {
    "DescribeContinuousBackups": {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"},  # as the program sets it
        }
    },
    "TagResource": {},
    "UntagResource": {},
    "UpdateContinuousBackups": {},
}
"""Operations that DynamoDB Local doesn't know (DynamoDB guide, "DynamoDB local usage notes"), and their answers here.

A run relies on none of them, so they are answered the same on every other DynamoDB.
"""


class StackAws(Aws):
    """Clients of the local server; DynamoDB's may be those of another one."""

    def __init__(self, endpoint: str, dynamodb: str | None) -> None:
        super().__init__(endpoint)
        self._dynamodb = dynamodb

    def as_server(self) -> Aws:
        """Return these clients, which have the server's own keys."""
        return self

    def client(self, service: Any, region: str) -> Any:
        """Return the client of a service in a region."""
        if service != "dynamodb" or self._dynamodb is None:
            return super().client(service, region)
        with self._lock:
            if (service, region) not in self._clients:
                client: Any = self._session.client(
                    service, region_name=region, endpoint_url=self._dynamodb, config=Config(proxies={})
                )
                for operation, answer in LACKING.items():
                    client.meta.events.register(f"before-call.dynamodb.{operation}", partial(_answer, answer))
                client.meta.events.register("after-call.dynamodb", partial(_with_region, region))
                self._clients[service, region] = client
            return self._clients[service, region]


def _answer(answer: Mapping[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
    """Return what boto3 takes for the response. Nothing is sent."""
    return AWSResponse("", 200, HTTPHeaders(), None), dict(answer)


def _with_region(region: str, parsed: Any, **_: Any) -> None:
    """Put the region into the ARN of the table that a response describes."""
    for table in (parsed.get("Table"), parsed.get("TableDescription")):
        if table and "TableArn" in table:
            table["TableArn"] = table["TableArn"].replace(LOCAL_REGION, f":{region}:", 1)


def _nothing(*_: str) -> None:
    """Report nothing."""


def main(arguments: Sequence[str]) -> int:
    """Deploy. Return 1 after an error (which is printed)."""
    endpoint, stack, *overrides = arguments
    aws = StackAws(endpoint, os.environ.get("CHAOS_DYNAMODB"))
    try:
        outputs = deploy(project()["name"], stack, configuration(stack, overrides), aws, _nothing)
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
