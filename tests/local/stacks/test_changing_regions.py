"""Regions come and go while clients mint from all URLs all the time."""

import os
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from global_integers_core.records import RECORD_KEY
from local.aws_clients import Aws
from tests.local.machine import HANGING, Clients, Machine, coordinators

TWO = ("us-east-1", "eu-west-1")
THREE = (*TWO, "ap-southeast-2")
TENANTS = 15
"""Counters besides: they make a change take long enough to be cut."""


@pytest.mark.long
def test_regions_come_and_go_under_traffic(fresh: Machine) -> None:
    tenants = ", ".join(f'"tenant-{n}"' for n in range(TENANTS))
    counters = (f'counters=["integers", {tenants}]',)
    assert fresh.up(*TWO, settings=counters).returncode == 0
    urls = fresh.outputs()["urls"]
    clients = Clients(urls)

    assert fresh.up(*THREE, settings=counters).returncode == 0
    clients.add({region: url for region, url in fresh.outputs()["urls"].items() if region not in urls})
    result = fresh.up(*kill_the_coordinator(fresh, THREE[::-1], THREE, settings=counters), settings=counters)
    assert result.returncode == 0, result.stderr
    result = fresh.up(*TWO, settings=counters)
    assert result.returncode == 0, result.stderr
    clients.wait_for_more(TWO)
    integers = clients.end()

    assert len(set(integers)) == len(integers)
    for client, own in clients.minted.items():
        assert own == sorted(own), client
    assert {region for region in clients.failed if region in TWO} == set(), clients.failed
    final = fresh.outputs()["counters"]["integers"]
    assert final["epoch"] >= 4
    for region in TWO:
        assert clients.minted[region, 0][-1] >= final["base"]


def kill_the_coordinator(
    machine: Machine, *desired_states: tuple[str, ...], settings: tuple[str, ...]
) -> tuple[str, ...]:
    """Start a change and end the coordinator's process once it has admitted it. Return that desired state.

    Should the change be done before the process is ended, the next desired state is tried.
    """
    dynamodb = Aws(machine.endpoint).client("dynamodb", "us-east-1")

    def record() -> Mapping[str, Any]:
        key = {"counter": {"S": RECORD_KEY}}
        answer = dynamodb.get_item(TableName="global-integers-dev-layouts", Key=key, ConsistentRead=True)
        return answer.get("Item", {})

    for desired in desired_states * 5:
        before = record()["number"]
        running = coordinators(machine.folder)
        with machine.start(*machine.command(*desired, settings=settings)) as process:
            while record()["number"] == before:
                assert process.poll() is None
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            process.communicate(timeout=HANGING)
        if not record()["reconciled"]["BOOL"]:
            assert process.returncode == 1, "the coordinator was ended, and its deployment succeeded"
            return desired
    raise AssertionError("the coordinator was always too fast")
