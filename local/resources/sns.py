"""SNS topics and subscriptions. The local server keeps them and sends no mail."""

from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from .kind import Aws, Result


class Topic:
    """A topic."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the topic, or take the one that exists."""
        arn = aws.client("sns", inputs["region"]).create_topic(Name=inputs["name"])["TopicArn"]
        return Result(arn, {"arn": arn})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        aws.client("sns", made.inputs["region"]).get_topic_attributes(TopicArn=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the topic with its subscriptions."""
        aws.client("sns", made.inputs["region"]).delete_topic(TopicArn=made.id)


class Subscription:
    """A subscription of one endpoint to a topic."""

    identity: tuple[str, ...] = ("region", "topic", "protocol", "endpoint")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Subscribe, or take the subscription that exists."""
        client = aws.client("sns", inputs["region"])
        arn = client.subscribe(
            TopicArn=inputs["topic"],
            Protocol=inputs["protocol"],
            Endpoint=inputs["endpoint"],
            ReturnSubscriptionArn=True,
        )["SubscriptionArn"]
        return Result(arn, {"arn": arn})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        aws.client("sns", made.inputs["region"]).get_subscription_attributes(SubscriptionArn=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Unsubscribe."""
        aws.client("sns", made.inputs["region"]).unsubscribe(SubscriptionArn=made.id)
