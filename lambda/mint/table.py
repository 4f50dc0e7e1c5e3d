"""The region's counter table: the one write that mints."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# A mint takes some milliseconds. What takes a second is lost, and another try is cheaper than waiting.
# An attempt whose answer was lost may have minted: the next mints another. A gap, never a duplicate.
TRANSPORT = Config(
    connect_timeout=1, read_timeout=1, retries={"mode": "standard", "total_max_attempts": 3}, tcp_keepalive=True
)

PASSING = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingException",
    }
)
"""Errors that pass by themselves (DynamoDB guide, "Error handling")."""


class UnknownCounter(Exception):
    """The table has no item of this counter. Minting never makes one: a lost table must show."""


class CeilingReached(Exception):
    """No integer is left below the ceiling. `fenced`: a change of layout is finishing, more will come."""

    def __init__(self, fenced: bool) -> None:
        super().__init__("fenced" if fenced else "used up")
        self.fenced = fenced


class Unavailable(Exception):
    """The table did not answer, is throttled or does not exist."""


class CounterTable:
    """One region's table, spoken to through one kept connection."""

    def __init__(self, name: str, client: "DynamoDBClient | None" = None) -> None:
        self._name = name
        self._client: DynamoDBClient = client or boto3.client("dynamodb", config=TRANSPORT)

    def mint(self, counter: str) -> int:
        """Hand out the counter's next integer: one UpdateItem, which carries its own condition.

        Raises:
            UnknownCounter, CeilingReached, Unavailable
        """
        try:
            answer = self._client.update_item(
                TableName=self._name,
                Key={"counter": {"S": counter}},
                UpdateExpression="SET issued = issued + stride",
                ConditionExpression="issued < ceiling",
                ReturnValues="UPDATED_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            raise _meaning(error) from error
        except BotoCoreError as error:  # connection, time-out
            raise Unavailable(str(error)) from error
        return int(_attribute(answer, "Attributes")["issued"]["N"])


def _meaning(error: ClientError) -> Exception:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        item = _attribute(error.response, "Item")
        if not item:
            return UnknownCounter()
        return CeilingReached(fenced=bool(item.get("fenced", {}).get("BOOL", False)))
    if code in PASSING or code == "ResourceNotFoundException":
        return Unavailable(str(error))
    return error


def _attribute(response: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return response.get(name) or {}
