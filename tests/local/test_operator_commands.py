"""What `logs` shows, also while it follows them, and what is left after `down`."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from local.aws_clients import Aws
from local.operator_commands import Deployed
from local.paths import LocalError
from local.server import aws_server
from local.server.process import Server
from tests.local.machine import HANGING, Command, Machine, mint, up


def test_the_logs_have_the_layouts_begin_and_no_noise(deployed: Machine) -> None:
    lines = deployed.run("logs", "-n", "1000").stdout.splitlines()

    created = [json.loads(line.partition(": ")[2]) for line in lines if '"created"' in line]
    assert {line["counter"] for line in created} >= {"-check", "integers", "orders"}
    assert not [line for line in lines if "START" in line or "_aws" in line]
    assert [line for line in lines if " us-east-1 global-integers-dev-coordinate: " in line]
    assert deployed.run("logs", "eu-west-1", "-n", "3").returncode == 0


def test_the_newest_line_is_shown_after_many(small: Machine) -> None:
    """FilterLogEvents gives pages of 10,000 events, the oldest first."""
    client: Any = Aws(small.endpoint).client("logs", "us-east-1")
    group = "/aws/lambda/global-integers-dev-mint"
    client.create_log_stream(logGroupName=group, logStreamName="many")
    for batch in range(12):
        at = int(time.time() * 1000)
        events = [{"timestamp": at + n // 400, "message": f"line {batch * 1_000 + n}"} for n in range(1_000)]
        client.put_log_events(logGroupName=group, logStreamName="many", logEvents=events)
    pages = [*client.get_paginator("filter_log_events").paginate(logGroupName=group, logStreamNames=["many"])]
    few = client.get_paginator("filter_log_events").paginate(
        logGroupName=group, logStreamNames=["many"], PaginationConfig={"PageSize": 300, "MaxItems": 2_000}
    )

    found = [event["message"] for page in pages for event in page["events"]]
    assert (len(pages), sorted(found)) == (2, sorted(f"line {n}" for n in range(12_000)))
    assert len({event["message"] for page in few for event in page["events"]}) == 2_000
    assert ": line 11999" in small.run("logs", "us-east-1", "-n", "5000").stdout
    client.delete_log_stream(logGroupName=group, logStreamName="many")


def test_after_down_all_begins_again(fresh: Machine) -> None:
    up(fresh, "us-east-1")
    state = (fresh.folder / "dev.json").read_text()
    refused = fresh.run("down", "--stack", "two")
    assert (refused.returncode, "dev would end, too" in refused.stderr) == (1, True)
    assert fresh.run("down", "--stack", "dev").returncode == 0
    (fresh.folder / "dev.json").write_text(state)  # as a `down` that is killed leaves it

    started = fresh.up("us-east-1")

    assert started.returncode == 0, "no witness of tables that were another server's"
    assert started.stdout.startswith(f"local AWS server: started on {fresh.endpoint} ")
    assert mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"] == 1


@pytest.mark.parametrize(
    ("stack", "advice"),
    [("dev", "stack dev is not deployed here; deploy it: .* up"), ("nonesuch", "there is no Pulumi.nonesuch.yaml; ")],
)
def test_a_stack_that_is_not_deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str, advice: str) -> None:
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(tmp_path))

    def running(up: str) -> Server:
        assert f"--stack {stack}" in up
        return Server(os.getpid(), 1)

    monkeypatch.setattr(aws_server, "running", running)

    with pytest.raises(LocalError, match=advice):
        Deployed(stack)


def follow(machine: Machine) -> Command:
    """Start to follow the logs, and wait for the first line."""
    process = machine.start("logs", "--follow", "-n", "1")
    assert process.stdout is not None
    assert " us-east-1 global-integers-dev-coordinate: " in process.stdout.readline()
    return process


def test_following_shows_new_lines_and_ctrl_c_ends_it(small: Machine) -> None:
    with follow(small) as process:
        assert process.stdout is not None
        created = small.run("send", '{"create": ["invoices"]}')
        assert created.returncode == 0, "another command waits for nothing"
        assert next((line for line in process.stdout if '"invoices"' in line), None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANGING)
    small.run("send", '{"delete": ["invoices"]}')

    assert (process.returncode, err) == (-signal.SIGINT, "")


def test_following_ends_with_the_server(small: Machine) -> None:
    with follow(small) as process:
        os.killpg(small.server(), signal.SIGKILL)
        _, err = process.communicate(timeout=HANGING)

    assert process.returncode == 1
    assert err.startswith("error: the local AWS server (process ")
    assert "has ended. What it had is saved; to start it again, at the same URLs: " in err
    assert "Traceback" not in err
    assert up(small, "us-east-1")
