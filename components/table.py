"""A DynamoDB table keyed by the counter's name."""

import pulumi
import pulumi_aws as aws


def table(
    resource: str, name: str, region: str, *, protect: bool, stream: bool, parent: pulumi.ComponentResource
) -> aws.dynamodb.Table:
    """On-demand, with point-in-time recovery. `protect` sets AWS's deletion protection and Pulumi's own.

    `stream` gives the table a stream that nobody reads (and that costs nothing): its label, the time of
    its making, tells this table from one of the same name that was made anew.
    """
    return aws.dynamodb.Table(
        resource,
        name=name,
        region=region,
        billing_mode="PAY_PER_REQUEST",
        hash_key="counter",
        attributes=[aws.dynamodb.TableAttributeArgs(name="counter", type="S")],
        point_in_time_recovery=aws.dynamodb.TablePointInTimeRecoveryArgs(enabled=True),
        deletion_protection_enabled=protect,
        stream_enabled=stream,
        stream_view_type="KEYS_ONLY" if stream else None,
        opts=pulumi.ResourceOptions(parent=parent, protect=protect),
    )
