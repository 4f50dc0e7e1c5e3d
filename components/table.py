"""A DynamoDB table keyed by the counter's name."""

import pulumi
import pulumi_aws as aws


def table(
    resource: str, name: str, region: str, *, protect: bool, parent: pulumi.ComponentResource
) -> aws.dynamodb.Table:
    """On-demand, with point-in-time recovery. `protect` sets AWS's deletion protection and Pulumi's own."""
    return aws.dynamodb.Table(
        resource,
        name=name,
        region=region,
        billing_mode="PAY_PER_REQUEST",
        hash_key="counter",
        attributes=[aws.dynamodb.TableAttributeArgs(name="counter", type="S")],
        point_in_time_recovery=aws.dynamodb.TablePointInTimeRecoveryArgs(enabled=True),
        deletion_protection_enabled=protect,
        opts=pulumi.ResourceOptions(parent=parent, protect=protect),
    )
