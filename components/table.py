"""A DynamoDB table, as this system uses them."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True)
class TableArgs:
    """On-demand, with point-in-time recovery, one string key."""

    name: str
    region: str
    protect: bool
    """Sets AWS's deletion protection and Pulumi's own."""
    key: str = "counter"
    stream: bool = False
    """A stream that nobody reads (and that costs nothing): its label, the time of its making, tells this
    table from one of the same name that was made anew."""
    expires: str | None = None
    """The attribute by which DynamoDB deletes what is old (TTL)."""


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
        opts=pulumi.ResourceOptions(parent=parent, protect=args.protect),
    )
