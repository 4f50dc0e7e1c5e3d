"""Budgets. Nothing costs anything here, so none ever sends an e-mail."""

from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from .kind import ACCOUNT, Aws, Result

ANYWHERE = "us-east-1"


class Budget:
    """A limit on costs, with the e-mails that tell of it."""

    identity: tuple[str, ...] = ("name",)

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the budget, in place of an earlier one."""
        if before is not None:
            self.delete(aws, before)
        aws.client("budgets", ANYWHERE).create_budget(
            AccountId=ACCOUNT,
            Budget={
                "BudgetName": inputs["name"],
                "BudgetType": inputs["budgetType"],
                "TimeUnit": inputs["timeUnit"],
                "BudgetLimit": {"Amount": inputs["limitAmount"], "Unit": inputs["limitUnit"]},
                "CostFilters": {entry["name"]: entry["values"] for entry in inputs["costFilters"]},
            },
            NotificationsWithSubscribers=[_notification(entry) for entry in inputs["notifications"]],
        )
        return Result(inputs["name"], {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if it no longer exists."""
        client = aws.client("budgets", ANYWHERE)
        try:
            client.describe_budget(AccountId=ACCOUNT, BudgetName=made.id)
        except client.exceptions.NotFoundException:
            return None
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the budget, which may be gone."""
        client = aws.client("budgets", ANYWHERE)
        if self.read(aws, made) is not None:
            client.delete_budget(AccountId=ACCOUNT, BudgetName=made.inputs["name"])


def _notification(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Notification": {
            "NotificationType": inputs["notificationType"],
            "ComparisonOperator": inputs["comparisonOperator"],
            "Threshold": inputs["threshold"],
            "ThresholdType": inputs["thresholdType"],
        },
        "Subscribers": [
            {"SubscriptionType": "EMAIL", "Address": address} for address in inputs["subscriberEmailAddresses"]
        ],
    }
