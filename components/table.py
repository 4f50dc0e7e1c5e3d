"""A DynamoDB table, as this system uses it, the right to use its key, and who may write into it."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from .function import policy
from .names import STAYS


def table(
    resource: str,
    name: str,
    region: str,
    parent: pulumi.ComponentResource,
    *,
    protect: bool,
    kms_key: pulumi.Input[str] | None,
    key: str = "counter",
    stream: bool = False,
    expires: str | None = None,
    after: Sequence[pulumi.Resource] = (),
) -> aws.dynamodb.Table:
    """Register a table that is billed on demand, with point-in-time recovery and one string key, `key`.

    `protect` is AWS's deletion protection and Pulumi's own. Without a `kms_key`, a key of AWS encrypts it. `expires` is
    the attribute with the time of an item's deletion, in seconds since 1970. Nothing reads the stream, and it costs
    nothing: its label is the table's creation time, which tells it from a recreated table of the same name. The table
    is created after `after`, and deleted before it.
    """
    ttl = aws.dynamodb.TableTtlArgs(attribute_name=expires, enabled=True) if expires else None
    encrypted = kms_key is not None
    encryption = aws.dynamodb.TableServerSideEncryptionArgs(enabled=True, kms_key_arn=kms_key) if encrypted else None
    return aws.dynamodb.Table(
        resource,
        name=name,
        region=region,
        billing_mode="PAY_PER_REQUEST",
        hash_key=key,
        attributes=[aws.dynamodb.TableAttributeArgs(name=key, type="S")],
        point_in_time_recovery=aws.dynamodb.TablePointInTimeRecoveryArgs(enabled=True),
        deletion_protection_enabled=protect,
        stream_enabled=stream,
        stream_view_type="KEYS_ONLY" if stream else None,
        ttl=ttl,
        server_side_encryption=encryption,
        opts=pulumi.ResourceOptions(parent=parent, protect=protect, depends_on=after, ignore_changes=STAYS),
    )


def arn_in(region: str, table: aws.dynamodb.Table) -> pulumi.Output[str]:
    """Return the ARN of this region's table. It fails if Pulumi's state has a table of another region in its place.

    `pulumi import` reads the provider's region, which is the home region, unless the id ends with `@<region>`
    (terraform-provider-aws, "Enhanced region support"). The program doesn't change the region afterwards (`STAYS`).
    """
    return pulumi.Output.all(table.arn, table.urn).apply(lambda known: _arn_in(region, *known))


def _arn_in(region: str, arn: str, urn: str) -> str:
    actual = arn.split(":")[3]
    if actual != region:
        raise pulumi.RunError(
            f"{urn.rpartition('::')[2]}: Pulumi's state has the table of {actual}, not of {region}: it was imported "
            f"without its region. Take it out of the state, and deploy again: pulumi state delete --force '{urn}'"
        )
    return arn


def use_keys(keys: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return the statement that allows the use of these keys, through DynamoDB only; none if there are none.

    DynamoDB uses a table's key on behalf of its caller (DynamoDB guide, "DynamoDB encryption at rest: authorizing
    use of a customer managed key"). The key's own policy must allow it, too, or leave it to policies like this.
    """
    if not any(keys):
        return []
    actions = ["Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*"]
    return [
        {
            "Effect": "Allow",
            "Action": [f"kms:{action}" for action in actions],
            "Resource": list(keys),
            "Condition": {"StringLike": {"kms:ViaService": "dynamodb.*"}},
        }
    ]


OPEN = (
    *("BatchGetItem", "ConditionCheckItem", "GetItem", "PartiQLSelect", "Query", "Scan"),
    *("CreateBackup", "ExportTableToPointInTime", "RestoreTableToPointInTime", "StartAwsBackupJob"),
    *("DescribeContinuousBackups", "DescribeContributorInsights", "DescribeKinesisStreamingDestination"),
    *("DescribeTable", "DescribeTableReplicaAutoScaling", "DescribeTimeToLive"),
    *("GetResourcePolicy", "ListTagsOfResource"),
    *("DeleteTable", "TagResource", "UntagResource", "UpdateContinuousBackups", "UpdateContributorInsights"),
    *("DisableKinesisStreamingDestination", "EnableKinesisStreamingDestination", "UpdateKinesisStreamingDestination"),
    *("DeleteResourcePolicy", "PutResourcePolicy", "UpdateTable", "UpdateTimeToLive"),
)
"""What a protected table leaves to everybody: the actions that read its items, and those that manage it. A restore
reads the table, and writes into a new one. All of them may be in a table's policy (DynamoDB guide, "DynamoDB API
operations supported by resource-based policies"; Service Authorization Reference, for those that aren't operations)."""


def only_writers(
    resource: str, region: str, table: aws.dynamodb.Table, writers: Sequence[pulumi.Input[str]], parent: pulumi.Resource
) -> aws.dynamodb.ResourcePolicy:
    """Register the table's policy: it denies whatever isn't `OPEN`, unless it is by one of these roles.

    So it also denies what DynamoDB will let callers do some day.

    It denies it to the account's administrators and its root user, too, since nothing outweighs a denial. For a session
    of a role, `aws:PrincipalArn` is the role's ARN, with its path (IAM guide, "AWS global condition context keys"). The
    ARN of a role is only compared: as a `Principal`, it would be lost with the role, even if that was recreated.

    Reading is as free as before, and so is deleting the table, which `protect` prevents by other means. Changing this
    policy is free as well: it is the way in for operators, and CloudTrail records it.
    """
    return aws.dynamodb.ResourcePolicy(
        resource,
        region=region,
        resource_arn=arn_in(region, table),
        policy=pulumi.Output.all(arn_in(region, table), *writers).apply(lambda arns: _deny(*arns)),
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=STAYS),
    )


def _deny(table: str, *writers: str) -> str:
    return policy(
        [
            {
                "Sid": "OnlyItsWriters",
                "Effect": "Deny",
                "Principal": "*",
                "NotAction": [f"dynamodb:{action}" for action in OPEN],
                "Resource": table,
                "Condition": {"ArnNotEquals": {"aws:PrincipalArn": sorted(writers)}},
            }
        ]
    )
