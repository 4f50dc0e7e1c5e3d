"""What shows an operator the state, and notifies one: the dashboard, the alarms with their topics, and the budget."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from ..names import STAYS
from .alarms import BELOW, MORE, MetricAlarm, alarms
from .dashboard import body
from .stack_metrics import StackMetrics


class Monitoring(pulumi.ComponentResource):
    """The alarms in every region, and a dashboard if it is wanted. An alarm only notifies a topic of its own region.

    What a region has of it are children of one component, so they can be taken out of Pulumi's state with it.

    `emails` get a topic in each region with alarms, which `kms_keys` encrypt, by region. `topics` are those of
    somebody else, by region too. `deployed` is the coordinator after its first run.
    """

    def __init__(
        self,
        name: str,
        metrics: StackMetrics,
        *,
        dashboard: bool,
        emails: Sequence[str],
        topics: Mapping[str, pulumi.Input[str]],
        kms_keys: Mapping[str, pulumi.Input[str]],
        deployed: pulumi.Resource,
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:Observability", name, None, opts)
        found, names, home = alarms(metrics), metrics.names, metrics.home
        self._name, self._metrics, self._deployed = name, metrics, deployed
        regions = list(dict.fromkeys(alarm.metric.region for alarm in found))
        of = "global-integers:index:RegionalObservability"
        self._in = {
            each: pulumi.ComponentResource(of, f"{name}-{each}", None, pulumi.ResourceOptions(parent=self))
            for each in dict.fromkeys([*regions, *([home] if dashboard else [])])
        }
        if dashboard:
            aws.cloudwatch.Dashboard(
                f"{name}-{home}-dashboard",
                dashboard_name=names.dashboard(home),
                region=home,
                dashboard_body=pulumi.Output.json_dumps(body(metrics)),
                opts=self._child(home),
            )
        own = {region: self._topic(region, emails, kms_keys.get(region)).arn for region in regions} if emails else {}
        heard = {region: [each[region] for each in (own, topics) if region in each] for region in regions}
        made = [(alarm, self._alarm(alarm, heard[alarm.metric.region])) for alarm in found]
        joined = [resource for alarm, resource in made if not alarm.alarm.every_region]
        if joined:
            # It notifies nobody, since each of the joined alarms does: two of them must not be one message.
            aws.cloudwatch.CompositeAlarm(
                f"{name}-{home}-any",
                alarm_name=names.alarm("any"),
                region=home,
                alarm_description=f"{names.prefix}: at least one of the coordinator's alarms is in ALARM. {MORE}",
                alarm_rule=pulumi.Output.all(*(alarm.name for alarm in joined)).apply(
                    lambda names: " OR ".join(f'ALARM("{each}")' for each in names)
                ),
                opts=self._child(home),
            )
        self.register_outputs({})

    def _child(self, region: str, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self._in[region], depends_on=after, ignore_changes=STAYS)

    def _topic(self, region: str, emails: Iterable[str], kms_key: pulumi.Input[str] | None) -> aws.sns.Topic:
        topic = aws.sns.Topic(
            f"{self._name}-{region}-topic",
            name=self._metrics.names.alarms_topic,
            region=region,
            kms_master_key_id=kms_key,
            opts=self._child(region),
        )
        for email in emails:
            aws.sns.TopicSubscription(
                f"{self._name}-{region}-mail-{email}",
                region=region,
                topic=topic.arn,
                protocol="email",
                endpoint=email,
                opts=self._child(region),
            )
        return topic

    def _alarm(self, made: MetricAlarm, actions: Sequence[pulumi.Input[str]]) -> aws.cloudwatch.MetricAlarm:
        alarm, names, evaluation, region = made.alarm, self._metrics.names, made.evaluation, made.metric.region
        return aws.cloudwatch.MetricAlarm(
            f"{self._name}-{region}-{made.name}",
            name=names.alarm(made.name),
            region=region,
            alarm_description=made.text(names.prefix),
            **_data(made),
            evaluation_periods=evaluation.periods,
            datapoints_to_alarm=evaluation.breaching,
            comparison_operator=evaluation.comparison,
            threshold=evaluation.threshold,
            alarm_actions=[*actions],
            ok_actions=[*actions],
            opts=self._child(region, *([self._deployed] if alarm.after_deployment else [])),
        )


def _data(alarm: MetricAlarm) -> dict[str, Any]:
    """Return an alarm's data: its metric as it is, or with a zero in every period without data.

    Where there has never been any, there may be nothing to fill: then missing data count as the zero would.
    """
    metric, evaluation = alarm.metric, alarm.evaluation
    percentile = evaluation.statistic.startswith("p")
    of: dict[str, Any] = {
        "namespace": metric.namespace,
        "metric_name": metric.name,
        "dimensions": metric.dimensions,
        "period": evaluation.period,
    }
    if evaluation.missing != "zero":
        return {
            **of,
            "extended_statistic" if percentile else "statistic": evaluation.statistic,
            # Of a few requests, the slowest is the slowest 1 %: that is one cold start.
            "evaluate_low_sample_count_percentiles": "ignore" if percentile else None,
            "treat_missing_data": evaluation.missing,
        }
    query = aws.cloudwatch.MetricAlarmMetricQueryArgs
    return {
        "metric_queries": [
            query(id="metric", metric=aws.cloudwatch.MetricAlarmMetricQueryMetricArgs(**of, stat=evaluation.statistic)),
            query(id="filled", expression="FILL(metric, 0)", label=metric.name, return_data=True),
        ],
        "treat_missing_data": "breaching" if evaluation.comparison == BELOW else "notBreaching",
    }


SERVICES = ("AWS Lambda", "Amazon API Gateway", "Amazon DynamoDB", "Amazon Route 53", "AmazonCloudWatch")
"""The services that a deployment uses, as Cost Explorer calls them."""

EVERYWHERE = "global"
"""What Cost Explorer calls the region of services that have none, like Route 53."""

NOTIFICATIONS = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
"""Of which costs, and at which percentage of the limit."""


def budget(
    resource: str,
    name: str,
    dollars: int,
    regions: Iterable[str],
    emails: Sequence[str],
    parent: pulumi.ComponentResource,
) -> aws.budgets.Budget:
    """Register an e-mail when a month's costs reach a limit, or are about to. It stops nothing.

    It counts what the account spends on these services in these regions, whoever causes it: costs can be told apart
    only by tags that somebody has activated (Billing guide, "Cost allocation tags").
    """
    return aws.budgets.Budget(
        resource,
        name=name,
        budget_type="COST",
        limit_amount=str(dollars),
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
                subscriber_email_addresses=list(emails),
            )
            for costs, percentage in NOTIFICATIONS
        ],
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=STAYS),
    )
