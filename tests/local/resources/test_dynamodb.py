"""Tables as they are on the server, whoever changed them, and an item that the program reads."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws
import pytest

from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.paths import LocalError
from local.stack import State
from tests.local.registrations import HOME, create_bare_table, table, up

STREAM: dict[str, Any] = {"streamEnabled": True, "streamViewType": "KEYS_ONLY"}
KEY = {"receipt": {"S": "one"}}


def described(aws: Aws, name: str) -> dict[str, Any]:
    return dict(aws.client("dynamodb", HOME).describe_table(TableName=name)["Table"])


def test_a_stream_and_the_protection_are_changed_in_place(aws: Aws, name: str) -> None:
    up(aws, table(name))
    first = described(aws, name)
    assert first.get("StreamSpecification", {}).get("StreamEnabled", False) is False

    for changed in ({**STREAM, "deletionProtectionEnabled": True}, {}):
        assert up(aws, table(name, **changed))[1] == Counter(updated=1)
        now = described(aws, name)
        assert now["TableId"] == first["TableId"]
        assert now.get("StreamSpecification", {}).get("StreamEnabled", False) is ("streamEnabled" in changed)
        assert now.get("DeletionProtectionEnabled", False) is ("streamEnabled" in changed)
    assert up(aws, table(name))[1] == Counter(unchanged=1)


def test_a_recreated_table_is_another_one_and_set_right(aws: Aws, name: str) -> None:
    [before], _ = up(aws, table(name, **STREAM, deletionProtectionEnabled=True))
    client = aws.client("dynamodb", HOME)
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.delete_table(TableName=name)
    create_bare_table(aws, name)
    recreated = described(aws, name)["TableId"]

    [after], events = up(aws, table(name, **STREAM, deletionProtectionEnabled=True))

    now = described(aws, name)
    assert events == Counter(updated=1)
    assert now["TableId"] == recreated
    assert (now["StreamSpecification"]["StreamEnabled"], now["DeletionProtectionEnabled"]) == (True, True)
    assert after["streamLabel"] == now["LatestStreamLabel"] != before["streamLabel"]
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED"
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl.get("TimeToLiveStatus") == "ENABLED"


def test_a_table_recreated_just_as_it_was_is_told_by_its_stream(aws: Aws, name: str, folder: Path) -> None:
    [before], _ = up(aws, table(name, **STREAM))
    state = folder / "parts.json"
    recorded = state.read_text()
    state.unlink()
    aws.client("dynamodb", HOME).delete_table(TableName=name)
    up(aws, table(name, **STREAM))
    state.write_text(recorded)  # as if somebody else had recreated it

    [after], events = up(aws, table(name, **STREAM))

    assert events == Counter(unchanged=1)
    assert after["streamLabel"] == described(aws, name)["LatestStreamLabel"] != before["streamLabel"]


def read(aws: Aws, table_name: str, region: str = HOME, *, catch: bool = False) -> dict[str, Any]:
    """Return what a program exports that reads the item."""

    def program() -> None:
        def item(_: str) -> str:
            try:
                found = pulumi_aws.dynamodb.get_table_item(table_name=table_name, key=json.dumps(KEY), region=region)
            except Exception as error:
                if not catch:
                    raise
                return str(error)
            return found.item

        pulumi.export("item", pulumi.Output.from_input("").apply(item))

    return deploy(Engine(aws, State("reading"), lambda _event, _kind, _name: None), "project", {}, program).outputs


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(LocalError) as refused:
        call()
    return str(refused.value)


def test_the_program_reads_an_item_or_catches_its_absence(aws: Aws, name: str) -> None:
    up(aws, table(name))
    missing = read(aws, name, catch=True)["item"]
    assert "empty result" in missing
    assert "operation error" not in missing
    assert refusal(lambda: read(aws, name)) == missing

    item = {**KEY, "number": {"N": "9007199254740991"}, "reconciled": {"BOOL": True}}
    aws.client("dynamodb", HOME).put_item(TableName=name, Item=item)
    assert json.loads(read(aws, name)["item"]) == item


def test_other_errors_of_reading_are_operation_errors(aws: Aws, name: str) -> None:
    """So the program can tell it from an item that isn't there."""
    assert "couldn't find resource" in read(aws, name, catch=True)["item"]
    assert "operation error" not in refusal(lambda: read(aws, name))
    up(aws, table(name, hashKey="other", attributes=[{"name": "other", "type": "S"}]))
    assert "operation error DynamoDB: GetItem" in refusal(lambda: read(aws, name))
    assert "operation error DynamoDB: GetItem" in refusal(lambda: read(Aws("http://127.0.0.1:1"), name))
