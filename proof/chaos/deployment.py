"""`python -m proof.chaos.deployment <endpoint> <stack> key=value…` deploys the program and prints its outputs as JSON.

It is a process of its own, so that it can be killed at any moment. `CHAOS_DYNAMODB` is the endpoint of another
DynamoDB, such as DynamoDB Local. This module answers for the operations that DynamoDB Local lacks.
"""

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from local.aws_clients import Aws
from local.engine import deploy
from local.paths import LocalError
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


def clients(endpoint: str) -> Aws:
    """Return clients of the local server; DynamoDB's are those of the other one if there is one."""
    dynamodb = os.environ.get("CHAOS_DYNAMODB")
    aws = Aws(endpoint, dynamodb=dynamodb)
    if dynamodb:
        events: Any = aws.session.events
        for operation, answer in LACKING.items():
            events.register(f"before-call.dynamodb.{operation}", partial(_answer, answer))
        events.register("after-call.dynamodb", _with_region)
    return aws


def _answer(answer: Mapping[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
    """Return what boto3 takes for the response. Nothing is sent."""
    return AWSResponse("", 200, HTTPHeaders(), None), dict(answer)


def _with_region(parsed: Any, context: Any, **_: Any) -> None:
    """Put the region into the ARN of the table that a response describes."""
    for table in (parsed.get("Table"), parsed.get("TableDescription")):
        if table and "TableArn" in table:
            table["TableArn"] = table["TableArn"].replace(LOCAL_REGION, f":{context['client_region']}:", 1)


def main() -> None:
    """Deploy, and print the outputs. An error's message ends it."""
    endpoint, stack, *overrides = sys.argv[1:]
    config = configuration(stack, overrides)
    try:
        outputs = deploy(project()["name"], stack, config, clients(endpoint), lambda _what, _type, _name: None)
    except LocalError as error:
        sys.exit(str(error))
    print(json.dumps(outputs))


if __name__ == "__main__":
    main()
