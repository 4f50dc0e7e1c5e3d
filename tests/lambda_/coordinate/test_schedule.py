"""What a scheduled run does, and what it costs when there is nothing to do."""

from collections import Counter
from dataclasses import replace

import pytest
from aws_client.service import DynamoDB
from coordinate.dynamodb.encoding import attributes_of
from coordinate.dynamodb.run_lock import RunLock
from coordinate.handler import CoordinatorError

from tests.lambda_.coordinate.interrupted_runs import recorded, short_of_time
from tests.lambda_.coordinator_calls import HOME, REGIONS, deploy, deployment, items, record, scheduled_run, send
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import everything

NAMES = [f"tenant-{n:02}" for n in range(8)]


def test_with_nothing_to_do_it_only_scans_and_writes_nothing(stack: Stack, ask: Ask) -> None:
    kinds: list[Counter[str]] = []
    for counters in (["integers"], NAMES[:3]):
        deploy(*REGIONS, counters=counters)
        ask("POST", f"/{counters[0]}")
        before = everything(stack, *REGIONS)
        with pytest.MonkeyPatch.context() as patch:
            operations = recorded(patch)
            reply = scheduled_run()
        assert everything(stack, *REGIONS) == before
        assert [*reply["counters"]] == counters
        kinds.append(Counter(type(operation).__name__ for operation in operations))

    assert kinds[0] == kinds[1], "whatever the number of counters"
    assert not [name for name in kinds[0] if not name.startswith(("Read", "Scan", "Describe"))]
    assert (kinds[0]["ScanRegisters"], kinds[0]["ScanCopies"], kinds[0]["ScanItems"]) == (1, 1, len(REGIONS))
    assert kinds[0]["ReadRegister"] == kinds[0]["ReadItem"] == kinds[0]["ReadCopy"] == 0
    assert [found["counter"]["S"] for found in before["layouts"]][:2] == ["/admitted", "/deployment"], "no counters"


def test_what_does_not_fit_in_the_time_ends_within_a_few_runs(stack: Stack) -> None:
    deploy(HOME, counters=NAMES)
    event = deployment("eu-west-1", HOME, counters=NAMES)
    with pytest.raises(CoordinatorError, match=r"3 of 8 counters are done; time ran out, or another run has taken"):
        send(event, short_of_time(3))

    left = [scheduled_run(short_of_time(3)).get("unfinished") for _ in range(2)]

    assert left == [8 - 6, None]
    assert {found.epoch for name in NAMES for found in items(stack, HOME, counter=name) if found} == {2}


def test_of_two_runs_one_is_skipped(stack: Stack) -> None:
    deploy()
    assert RunLock(DynamoDB(HOME), stack.layouts, "another run").take()

    assert scheduled_run() == {"skipped": "another run is at work"}
    assert deploy()["registered"] == 1, "a deployment takes over"
    assert scheduled_run()["registered"] == 1


def test_what_an_operator_writes_by_mistake_stops_nobody(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    deploy()
    mistyped = {"counter": {"S": "ordrs"}, "floor": {"N": "5"}}
    for region, table in ((HOME, stack.layouts), (HOME, stack.mirror), ("eu-west-1", stack.counters)):
        stack.aws.client("dynamodb", region).put_item(TableName=table, Item=mistyped)

    reply = scheduled_run()
    assert (reply["stray"], reply["pending"]) == ({"ordrs": ["layouts", "mirror", "eu-west-1"]}, [])
    expected = '"level": "WARN", "phase": "stray", "counter": "ordrs", "tables": ["layouts", "mirror", "eu-west-1"]'
    assert expected in capsys.readouterr().err
    changed = deploy(*REGIONS[::-1])
    assert (changed["pending"], changed["counters"]["integers"]["epoch"]) == ([], 2)


def test_a_record_that_cannot_be_read_is_said_and_put_back(stack: Stack) -> None:
    deploy()
    before = record(stack)
    client = stack.aws.client("dynamodb", HOME)
    asked, attributes = deployment("eu-west-1"), attributes_of(before)
    older = {name: value for name, value in attributes.items() if name not in ("answered", "above")}
    old_settings = {**attributes, "desired": {"S": before.desired.text.replace('"recovery":{},', "")}}
    expected = (
        r"^us-east-1: the item /deployment of the table layouts can't be .*If a version before 1\.0\.0 wrote it, "
    )
    for unreadable in (older, old_settings, {"counter": {"S": "/deployment"}, "desired": {"S": "{}"}}):
        client.put_item(TableName=stack.layouts, Item=unreadable)
        for event in ({"schedule": True}, asked, {"counters": True}):
            with pytest.raises(CoordinatorError, match=expected):
                send(event)
    client.delete_item(TableName=stack.layouts, Key={"counter": {"S": "/deployment"}})
    scheduled_run()
    found = record(stack)
    assert found == replace(before, token=found.token)
