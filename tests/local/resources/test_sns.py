"""Topics and their subscriptions on a real server."""

from collections import Counter
from typing import Any

from local.aws_clients import Aws
from local.engine.program import Registration
from tests.local.registrations import registration, up

REGION = "eu-west-1"


def topic(name: str) -> Registration:
    return registration("aws:sns/topic:Topic", name, {"region": REGION, "name": name})


def mail(name: str, email: str) -> Registration:
    inputs = {"region": REGION, "topic": arn(name), "protocol": "email", "endpoint": email}
    return registration("aws:sns/topicSubscription:TopicSubscription", email, inputs)


def arn(name: str) -> str:
    return f"arn:aws:sns:{REGION}:000000000000:{name}"


def subscribed(aws: Aws, name: str) -> list[dict[str, Any]]:
    return aws.client("sns", REGION).list_subscriptions_by_topic(TopicArn=arn(name))["Subscriptions"]


def test_a_topic_has_its_subscriptions_and_both_are_deleted(aws: Aws, name: str) -> None:
    [made, *_], events = up(aws, topic(name), mail(name, "a@shop.example"), mail(name, "b@shop.example"))
    assert (made["arn"], events) == (arn(name), Counter(created=3))
    assert [one["Endpoint"] for one in subscribed(aws, name)] == ["a@shop.example", "b@shop.example"]

    assert up(aws, topic(name), mail(name, "b@shop.example"))[1] == Counter(unchanged=2, deleted=1)
    assert [one["Endpoint"] for one in subscribed(aws, name)] == ["b@shop.example"]

    assert up(aws)[1] == Counter(deleted=2)
    assert arn(name) not in str(aws.client("sns", REGION).list_topics()["Topics"])


def test_what_somebody_deleted_is_made_again(aws: Aws, name: str) -> None:
    client = aws.client("sns", REGION)
    up(aws, topic(name), mail(name, "a@shop.example"))

    client.unsubscribe(SubscriptionArn=subscribed(aws, name)[0]["SubscriptionArn"])
    assert up(aws, topic(name), mail(name, "a@shop.example"))[1] == Counter(unchanged=1, created=1)

    client.delete_topic(TopicArn=arn(name))
    assert up(aws, topic(name), mail(name, "a@shop.example"))[1] == Counter(created=2)
