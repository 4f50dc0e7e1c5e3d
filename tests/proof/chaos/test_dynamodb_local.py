"""`make chaos` in short on DynamoDB Local, and what is made up there for what that lacks."""

from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.resources.dynamodb import Table
from local.stack import Made
from proof.chaos.deployment import clients
from proof.chaos.stack import REGIONS, lose, tables_of
from tests.proof.chaos.test_chaos import IN_SHORT, PREFIX, command, nothing_left

FAULTS = "cuts,throttles,delays"
"""Those of the calls to DynamoDB. The killed functions are the same on any other."""

HANGS = 1200
"""Seconds. A run takes about one minute, or four on a machine that is busy with ten others."""

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.needs("dynamodb-local"), pytest.mark.timeout(HANGS + 300)]


def test_chaos_on_dynamodb_local_mints_nothing_twice(
    dynamodb_local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAOS_DYNAMODB", dynamodb_local)
    options = ("--seed", "12", "--integers", "1000", "--events", ",".join(IN_SHORT), "--faults", FAULTS)

    with command(tmp_path, *options) as process:
        try:
            out, err = process.communicate(timeout=HANGS)
        finally:
            process.kill()  # what it has started ends with it

    assert process.returncode == 0, out + err
    assert err == ""
    assert out.splitlines()[-1] == "duplicates: 0"
    aws = Aws(dynamodb_local)
    assert not any(tables_of(aws.client("dynamodb", region), PREFIX) for region in REGIONS)
    assert nothing_left(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_table_on_dynamodb_local_has_its_regions_arn(dynamodb_local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAOS_DYNAMODB", dynamodb_local)
    aws = clients("http://127.0.0.1:1")  # nothing else is asked
    inputs = {
        "region": "eu-west-1",
        "name": "counters",
        "billingMode": "PAY_PER_REQUEST",
        "hashKey": "counter",
        "attributes": [{"name": "counter", "type": "S"}],
        "streamEnabled": True,
        "streamViewType": "KEYS_ONLY",
        "deletionProtectionEnabled": True,
        "pointInTimeRecovery": {"enabled": True},
        "ttl": {"attributeName": "expires", "enabled": True},
    }

    made = Table().apply(aws, inputs, None)
    found = Table().read(aws, Made("", "", "counters", inputs, made.id, dict(made.outputs), protect=False))

    assert made.outputs["arn"] == "arn:aws:dynamodb:eu-west-1:000000000000:table/counters"
    assert found is not None
    assert found == {**found, **made.outputs}
    assert {name: found[name] for name in found.keys() & inputs.keys()} == {
        name: inputs[name] for name in ("streamEnabled", "deletionProtectionEnabled", "pointInTimeRecovery", "ttl")
    }
    client = aws.client("dynamodb", "eu-west-1")
    client.update_table(TableName="counters", DeletionProtectionEnabled=False)
    lose(client, "counters")
