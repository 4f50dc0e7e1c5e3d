"""Calls another function and waits for its answer."""

import json
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError


class InvocationFailed(Exception):
    """The function ran and raised: its message."""


class NotReached(Exception):
    """No answer in time, or none at all: it may run nevertheless."""


def invoke(function: str, payload: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """`function`: an ARN, whose region is asked. `timeout` in seconds.

    Raises:
        InvocationFailed, NotReached
    """
    client = boto3.client(
        "lambda",
        region_name=function.split(":")[3],
        config=Config(connect_timeout=1, read_timeout=timeout, retries={"total_max_attempts": 1}),
    )
    try:
        answer = client.invoke(FunctionName=function, Payload=json.dumps(payload).encode())
        document = json.load(answer["Payload"])
    except (ClientError, BotoCoreError) as error:
        raise NotReached(str(error)) from error
    if answer.get("FunctionError"):
        raise InvocationFailed(str(document.get("errorMessage", document)))
    return document
