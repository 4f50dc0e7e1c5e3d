"""Who may write into a table: only the roles of this system. "Never twice" rests on that."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from .function import policy
from .settings.names import STAYS

WRITES = (
    *("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem"),
    *("PartiQLDelete", "PartiQLInsert", "PartiQLUpdate"),
)
"""The actions that change items. A transaction is authorized as the actions of its items (DynamoDB guide, "DynamoDB API
operations supported by resource-based policies")."""


def only_writers(
    resource: str, region: str, table: aws.dynamodb.Table, writers: Sequence[aws.iam.Role], parent: pulumi.Resource
) -> aws.dynamodb.ResourcePolicy:
    """Register the table's policy: it denies every write, unless it is by one of these roles.

    It denies it to the account's administrators and its root user, too, since nothing outweighs a denial. For a session
    of a role, `aws:PrincipalArn` is the role's ARN, with its path (IAM guide, "AWS global condition context keys"). The
    ARN of a role is only compared: as a `Principal`, it would be lost with the role, even if that was recreated.

    Reading is as free as before, and so is deleting the table, which `protect` prevents by other means. Changing this
    policy is free as well: it is the way in for operators, and CloudTrail records it.
    """
    return aws.dynamodb.ResourcePolicy(
        resource,
        region=region,
        resource_arn=table.arn,
        policy=pulumi.Output.all(table.arn, *(writer.arn for writer in writers)).apply(lambda arns: _deny(*arns)),
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=STAYS),
    )


def _deny(table: str, *writers: str) -> str:
    return policy(
        [
            {
                "Sid": "OnlyItsWriters",
                "Effect": "Deny",
                "Principal": "*",
                "Action": [f"dynamodb:{action}" for action in WRITES],
                "Resource": table,
                "Condition": {"ArnNotEquals": {"aws:PrincipalArn": sorted(writers)}},
            }
        ]
    )
