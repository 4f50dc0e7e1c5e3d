"""An e-mail when a month's costs reach a limit, or are about to."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from ..names import STAYS

SERVICES = ("AWS Lambda", "Amazon API Gateway", "Amazon DynamoDB", "Amazon Route 53", "AmazonCloudWatch")
"""The services that a deployment uses, as Cost Explorer calls them."""

EVERYWHERE = "global"
"""What Cost Explorer calls the region of services that have none, like Route 53."""

NOTIFICATIONS = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
"""Of which costs, and at which percentage of the limit."""


@dataclass(frozen=True)
class BudgetArgs:
    """A limit on costs. It stops nothing."""

    name: str
    dollars: int
    """US dollars a month."""
    emails: Sequence[str]
    regions: Sequence[str]


def budget(resource: str, args: BudgetArgs, parent: pulumi.ComponentResource) -> aws.budgets.Budget:
    """Register the budget as a child of `parent`.

    It counts what the account spends on these services in these regions, whoever causes it: costs can be told apart
    only by tags that somebody has activated (Billing guide, "Cost allocation tags").
    """
    return aws.budgets.Budget(
        resource,
        name=args.name,
        budget_type="COST",
        limit_amount=str(args.dollars),
        limit_unit="USD",
        time_unit="MONTHLY",
        cost_filters=[
            aws.budgets.BudgetCostFilterArgs(name="Service", values=list(SERVICES)),
            aws.budgets.BudgetCostFilterArgs(name="Region", values=[*args.regions, EVERYWHERE]),
        ],
        notifications=[
            aws.budgets.BudgetNotificationArgs(
                notification_type=costs,
                comparison_operator="GREATER_THAN",
                threshold=percentage,
                threshold_type="PERCENTAGE",
                subscriber_email_addresses=list(args.emails),
            )
            for costs, percentage in NOTIFICATIONS
        ],
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=STAYS),
    )
