"""What shows an operator the state, and notifies one: the dashboard, the alarms with their topics, and the budget."""

from typing import Any

import pulumi
import pulumi_aws as aws

from ..settings.args import Settings
from ..settings.names import STAYS
from .alarms import BELOW, MORE, Alarm, alarms
from .dashboard import body
from .stack_metrics import StackMetrics


class Monitoring(pulumi.ComponentResource):
    """The alarms in every region, and a dashboard if it is wanted. An alarm only notifies a topic of its own region."""

    def __init__(
        self, name: str, metrics: StackMetrics, coordinator: pulumi.Resource, opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("global-integers:index:Observability", name, None, opts)
        found, names, home = alarms(metrics), metrics.settings.names, metrics.settings.home
        self._name, self._coordinator, self._settings = name, coordinator, metrics.settings
        self._child = pulumi.ResourceOptions(parent=self, ignore_changes=STAYS)

        if self._settings.dashboard:
            aws.cloudwatch.Dashboard(
                f"{name}-dashboard",
                dashboard_name=names.prefix,
                region=home,
                dashboard_body=pulumi.Output.json_dumps(body(metrics)),
                opts=self._child,
            )
        regions = list(dict.fromkeys(alarm.metric.region for alarm in found))
        self._own_topics = {region: self._topic(region) for region in regions} if self._settings.alarm_emails else {}
        made = [(alarm, self._alarm(alarm)) for alarm in found]
        joined = [resource for alarm, resource in made if alarm.of_the_whole]
        if joined:
            # It notifies nobody, since each of the joined alarms does: two of them must not be one message.
            aws.cloudwatch.CompositeAlarm(
                f"{name}-any",
                alarm_name=names.alarm("any"),
                region=home,
                alarm_description=f"{names.prefix}: at least one of the coordinator's alarms is in ALARM. {MORE}",
                alarm_rule=pulumi.Output.all(*(alarm.name for alarm in joined)).apply(
                    lambda names: " OR ".join(f'ALARM("{each}")' for each in names)
                ),
                opts=self._child,
            )
        self.register_outputs({})

    def _topic(self, region: str) -> aws.sns.Topic:
        suffix = "" if region == self._settings.home else f"-{region}"
        topic = aws.sns.Topic(
            f"{self._name}{suffix}-topic",
            name=self._settings.names.alarms_topic,
            region=region,
            kms_master_key_id=self._settings.kms_key(region) or None,
            opts=self._child,
        )
        for email in self._settings.alarm_emails:
            aws.sns.TopicSubscription(
                f"{self._name}{suffix}-mail-{email}",
                region=region,
                topic=topic.arn,
                protocol="email",
                endpoint=email,
                opts=self._child,
            )
        return topic

    def _alarm(self, alarm: Alarm) -> aws.cloudwatch.MetricAlarm:
        topics, region = self._settings.alarm_topics, alarm.metric.region
        own = [self._own_topics[region].arn] if region in self._own_topics else []
        actions = [*own, *([topics[region]] if region in topics else [])]
        prefix = "" if alarm.of_the_whole else region
        after = [self._coordinator] if alarm.key == "noRun" else None  # its first run
        return aws.cloudwatch.MetricAlarm(
            "-".join(filter(None, [self._name, prefix, alarm.name])),
            name=self._settings.names.alarm(alarm.name),
            region=region,
            alarm_description=alarm.text(self._settings),
            **_data(alarm),
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.breaching,
            comparison_operator=alarm.comparison,
            threshold=alarm.threshold,
            alarm_actions=actions,
            ok_actions=actions,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after, ignore_changes=STAYS),
        )


def _data(alarm: Alarm) -> dict[str, Any]:
    """Return an alarm's data: its metric as it is, or with a zero in every period without data.

    Where there has never been any, there may be nothing to fill: then missing data count as the zero would.
    """
    metric, percentile = alarm.metric, alarm.statistic.startswith("p")
    of: dict[str, Any] = {
        "namespace": metric.namespace,
        "metric_name": metric.name,
        "dimensions": metric.dimensions,
        "period": alarm.period,
    }
    if alarm.missing != "zero":
        return {
            **of,
            "extended_statistic" if percentile else "statistic": alarm.statistic,
            # Of a few requests, the slowest is the slowest 1 %: that is one cold start.
            "evaluate_low_sample_count_percentiles": "ignore" if percentile else None,
            "treat_missing_data": alarm.missing,
        }
    query = aws.cloudwatch.MetricAlarmMetricQueryArgs
    return {
        "metric_queries": [
            query(id="metric", metric=aws.cloudwatch.MetricAlarmMetricQueryMetricArgs(**of, stat=alarm.statistic)),
            query(id="filled", expression="FILL(metric, 0)", label=metric.name, return_data=True),
        ],
        "treat_missing_data": "breaching" if alarm.comparison == BELOW else "notBreaching",
    }


SERVICES = ("AWS Lambda", "Amazon API Gateway", "Amazon DynamoDB", "Amazon Route 53", "AmazonCloudWatch")
"""The services that a deployment uses, as Cost Explorer calls them."""

EVERYWHERE = "global"
"""What Cost Explorer calls the region of services that have none, like Route 53."""

NOTIFICATIONS = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
"""Of which costs, and at which percentage of the limit."""


def budget(resource: str, settings: Settings, parent: pulumi.ComponentResource) -> aws.budgets.Budget:
    """Register an e-mail when a month's costs reach a limit, or are about to. It stops nothing.

    It counts what the account spends on these services in these regions, whoever causes it: costs can be told apart
    only by tags that somebody has activated (Billing guide, "Cost allocation tags").
    """
    regions = dict.fromkeys((*settings.deployed, settings.home))
    return aws.budgets.Budget(
        resource,
        name=settings.names.budget,
        budget_type="COST",
        limit_amount=str(settings.budget),
        limit_unit="USD",
        time_unit="MONTHLY",
        cost_filters=[
            aws.budgets.BudgetCostFilterArgs(name="Service", values=list(SERVICES)),
            aws.budgets.BudgetCostFilterArgs(name="Region", values=[*regions, EVERYWHERE]),
        ],
        notifications=[
            aws.budgets.BudgetNotificationArgs(
                notification_type=costs,
                comparison_operator="GREATER_THAN",
                threshold=percentage,
                threshold_type="PERCENTAGE",
                subscriber_email_addresses=list(settings.alarm_emails),
            )
            for costs, percentage in NOTIFICATIONS
        ],
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=STAYS),
    )
