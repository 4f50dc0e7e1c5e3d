"""A DynamoDB table, as this system uses it."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from ..names import STAYS


@dataclass(frozen=True)
class TableArgs:
    """A table that is billed on demand, with point-in-time recovery and one string key."""

    name: str
    region: str
    protect: bool
    """Whether it has AWS's deletion protection and Pulumi's own."""
    key: str = "counter"
    stream: bool = False
    """Whether it has a stream. Nothing reads it, and it costs nothing: its label is its creation time, which
    tells this table from a recreated one of the same name."""
    kms_key: str = ""
    """The ARN of the key that encrypts it. Empty: a key of AWS does."""
    expires: str | None = None
    """The attribute with the time at which DynamoDB deletes an item (TTL), in seconds since 1970."""


def table(resource: str, args: TableArgs, parent: pulumi.ComponentResource) -> aws.dynamodb.Table:
    """Register the table as a child of `parent`."""
    ttl = aws.dynamodb.TableTtlArgs(attribute_name=args.expires, enabled=True) if args.expires else None
    return aws.dynamodb.Table(
        resource,
        name=args.name,
        region=args.region,
        billing_mode="PAY_PER_REQUEST",
        hash_key=args.key,
        attributes=[aws.dynamodb.TableAttributeArgs(name=args.key, type="S")],
        point_in_time_recovery=aws.dynamodb.TablePointInTimeRecoveryArgs(enabled=True),
        deletion_protection_enabled=args.protect,
        stream_enabled=args.stream,
        stream_view_type="KEYS_ONLY" if args.stream else None,
        ttl=ttl,
        server_side_encryption=aws.dynamodb.TableServerSideEncryptionArgs(enabled=True, kms_key_arn=args.kms_key)
        if args.kms_key
        else None,
        opts=pulumi.ResourceOptions(parent=parent, protect=args.protect, ignore_changes=STAYS),
    )
