"""What is gone from the program and still not deleted."""

from collections import Counter

import pytest

from local.aws_clients import Aws
from local.paths import LocalError
from local.stack import Made, State
from tests.local.registrations import HOME, role, table, up

OTHER = "eu-west-1"


def tables(aws: Aws, name: str, region: str = HOME) -> list[str]:
    return [found for found in aws.client("dynamodb", region).list_tables()["TableNames"] if found.startswith(name)]


def test_what_is_protected_is_named_and_nothing_is_deleted(aws: Aws, name: str) -> None:
    protected, other = table(f"{name}-kept", protect=True), table(f"{name}-other", region=OTHER, protect=True)
    up(aws, role(name), table(f"{name}-loose"), protected, other)

    with pytest.raises(LocalError) as refused:
        up(aws, role(name), protected)

    message = str(refused.value)
    assert f"  {name}-other (aws:dynamodb/table:Table {OTHER} {name}-other)\n" in message
    assert f"{name}-kept" not in message
    assert "Nothing was deleted." in message
    assert f'deploy with `leaving: ["{OTHER}"]` beside `regions`, then without it' in message
    assert "deploy with `protect: false`, then take it out" in message
    assert tables(aws, name) == [f"{name}-kept", f"{name}-loose"]
    assert tables(aws, name, OTHER) == [f"{name}-other"]
    assert up(aws, role(name), table(f"{name}-loose"), protected, other)[1] == Counter(unchanged=4), (
        "put back, it goes on"
    )


def test_what_lost_its_protection_first_may_be_deleted(aws: Aws, name: str) -> None:
    up(aws, table(name, protect=True))

    assert up(aws, table(name, protect=False))[1] == Counter(unchanged=1)
    assert up(aws)[1] == Counter(deleted=1)
    assert tables(aws, name) == []


def test_protection_that_is_switched_on_later_counts(aws: Aws, name: str) -> None:
    up(aws, table(name))
    up(aws, table(name, protect=True, deletionProtectionEnabled=True))

    with pytest.raises(LocalError, match="are protected"):
        up(aws)


def test_what_is_protected_but_gone_is_forgotten(aws: Aws, name: str) -> None:
    up(aws, table(name, protect=True))
    aws.client("dynamodb", HOME).delete_table(TableName=name)

    up(aws)

    assert State("parts").resources == {}


def test_an_unknown_type_is_named_and_nothing_is_deleted(aws: Aws, name: str) -> None:
    up(aws, table(name))
    State("parts").put(Made("aws:sqs/queue:Queue q", "aws:sqs/queue:Queue", "my-queue", {"region": HOME}, "q", {}))

    with pytest.raises(LocalError, match=r"  my-queue \(aws:sqs/queue:Queue q\)\nNothing was deleted.*-m local down"):
        up(aws)

    assert tables(aws, name) == [name]
    assert len(State("parts").resources) == 2
