"""The function of the tutorials: boto3's Table and one UpdateItem, without a condition."""

import os

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["COUNTERS_TABLE"])


def handler(event: dict, context: object) -> dict:
    """Mint one integer."""
    response = TABLE.update_item(
        Key={"counter": "tutorial"},
        UpdateExpression="SET issued = issued + :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    return {"statusCode": 200, "body": str(response["Attributes"]["issued"])}
