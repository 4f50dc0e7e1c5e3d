"""Every recipe does what it says: run as it stands on the page."""

import json
from collections.abc import Callable
from typing import Any, cast

import boto3
import pytest
from machine import Machine, mint

REGION = "eu-west-1"


@pytest.fixture
def aws(machine: Machine) -> Callable[[str], Any]:
    """`aws(service)`: a client of the local server."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    made = cast("Callable[..., Any]", session.client)
    return lambda service: made(service, endpoint_url=f"http://127.0.0.1:{machine.port}")


def make_table(aws: Any, name: str) -> None:
    aws("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
    )


def items(aws: Any, table: str) -> list[dict[str, Any]]:
    return aws("dynamodb").scan(TableName=table)["Items"]


def test_a_shell_loop_gives_the_same_when_it_is_run_again(recipe: Any, run: Any) -> None:
    loop, block = recipe("A shell loop")

    first, again = run(*loop), run(*loop)
    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    integers = [int(line.split()[-1]) for line in first.stdout.splitlines()]
    assert integers == [integers[0], integers[0] + 3, integers[0] + 6]
    seats = [int(line.removeprefix("seat ")) for line in run(*block).stdout.splitlines()]
    assert seats == [integers[-1] + 3 * i for i in range(1, 6)]


def test_a_shell_loop_stops_where_it_gets_no_integer(recipe: Any, run: Any, url: str) -> None:
    loop, _ = recipe("A shell loop")

    result = run(*loop, URL=url + "nothing")
    assert result.returncode != 0
    assert result.stdout == ""


def test_a_primary_key_is_new_or_an_error(recipe: Any, run: Any, aws: Any, url: str) -> None:
    ((language, code),) = recipe("An auto-increment primary key for a DynamoDB table")
    make_table(aws, "orders")

    result = run(language, code)
    assert result.returncode == 0, result.stderr
    book, pen = map(int, result.stdout.split())
    assert pen == book + 3
    assert {int(item["id"]["N"]) for item in items(aws, "orders")} == {book, pen}

    aws("dynamodb").put_item(TableName="orders", Item={"id": {"N": str(pen + 3)}, "item": {"S": "imported"}})
    failed = run(language, code)
    assert "ConditionalCheckFailedException" in failed.stderr
    kept = next(item for item in items(aws, "orders") if item["id"]["N"] == str(pen + 3))
    assert kept["item"]["S"] == "imported"


def test_a_message_has_one_integer_though_the_consumer_ends_in_between(
    recipe: Any, run: Any, aws: Any, url: str
) -> None:
    ((language, code),) = recipe("An idempotent SQS consumer")
    queue = aws("sqs").create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    aws("sqs").send_message(QueueUrl=queue, MessageBody="a book")
    before = mint(url, "invoices")[1]["integer"]

    cut = run(language, code)  # it mints, and ends at the table that isn't there yet
    assert "ResourceNotFoundException" in cut.stderr
    assert mint(url, "invoices")[1]["integer"] == before + 6, "it has minted"
    make_table(aws, "invoices")
    done = run(language, code)

    assert done.returncode == 0, done.stderr
    assert items(aws, "invoices") == [{"id": {"N": str(before + 3)}, "order": {"S": "a book"}}]
    assert mint(url, "invoices")[1]["integer"] == before + 9, "nothing more was minted"
    left = aws("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"])
    assert json.loads(left["Attributes"]["ApproximateNumberOfMessages"]) == 0
