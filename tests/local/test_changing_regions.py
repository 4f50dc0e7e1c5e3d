"""Regions come and go while clients mint from all URLs all the time."""

import os
import signal
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from integers.records import RECORD_KEY
from local.resources import Aws
from tests.lambda_.laying_out import item
from tests.local.machine import Clients, Machine, chosen, coordinators, mint

TWO = ("us-east-1", "eu-west-1")
THREE = (*TWO, "ap-southeast-2")
FOUR = (*THREE, "us-west-2")
TENANTS = 15
"""Counters besides: they make a change take long enough to be cut."""


class Deployed(NamedTuple):
    """Where the counters tables of the deployment are."""

    aws: Aws
    counters: str


def test_regions_come_and_go_under_traffic_and_no_integer_is_minted_twice(fresh: Machine) -> None:
    tenants = ", ".join(f'"tenant-{n}"' for n in range(TENANTS))
    counters = (f'counters=["integers", {tenants}]',)
    assert fresh.up(*TWO, settings=counters).returncode == 0
    urls = fresh.outputs()["urls"]
    clients = Clients(urls)

    for regions in (THREE, FOUR):
        result = fresh.up(*regions, settings=counters)
        assert result.returncode == 0, result.stderr
        new = {region: url for region, url in fresh.outputs()["urls"].items() if region not in urls}
        clients.add(new)
        urls |= new
    result = fresh.up(*kill_the_coordinator(fresh, THREE[::-1], FOUR[::-1], settings=counters), settings=counters)
    assert result.returncode == 0, result.stderr
    result = fresh.up(*TWO, settings=counters)
    assert result.returncode == 0, result.stderr
    time.sleep(0.5)  # some more under the last layout
    integers = clients.end()

    assert len(set(integers)) == len(integers)
    assert len(integers) > 200
    for client, own in clients.minted.items():
        assert own == sorted(own), client
    assert {region for region in clients.failed if region in TWO} == set(), clients.failed
    final = fresh.outputs()["counters"]["integers"]
    assert final["epoch"] >= 5
    for region in TWO:
        assert clients.minted[region, 0][-1] >= final["base"]
    print(f"{len(integers)} integers, {clients.retried} responses with 503")


def kill_the_coordinator(machine: Machine, *wishes: tuple[str, ...], settings: tuple[str, ...]) -> tuple[str, ...]:
    """Start a change and end the coordinator's process once it has accepted it. Return the wish that was cut.

    Should the change be done before the process is ended, the next wish is tried.
    """
    dynamodb = Aws(f"http://127.0.0.1:{machine.port}").client("dynamodb", "us-east-1")

    def record() -> Mapping[str, Any]:
        key = {"counter": {"S": RECORD_KEY}}
        answer = dynamodb.get_item(TableName="global-integers-dev-layouts", Key=key, ConsistentRead=True)
        return answer.get("Item", {})

    for wish in wishes * 5:
        before = record()["number"]
        running = coordinators(machine.folder)
        with machine.start("up", *chosen(*wish, settings=settings)) as process:
            while record()["number"] == before:
                assert process.poll() is None
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            process.communicate(timeout=120)
        if not record()["settled"]["BOOL"]:
            assert process.returncode == 1, "the coordinator was ended, and its deployment succeeded"
            return wish
    raise AssertionError("the coordinator was always too fast")


def test_a_recreated_table_heals_without_a_floor(fresh: Machine) -> None:
    assert fresh.up(*TWO).returncode == 0
    url = fresh.outputs()["urls"]["eu-west-1"]
    assert [mint(url)[1]["integer"] for _ in range(3)] == [2, 4, 6]
    aws = Aws(f"http://127.0.0.1:{fresh.port}")
    aws.client("dynamodb", "eu-west-1").delete_table(TableName="global-integers-dev-counters")

    assert mint(url)[0] == 503
    healed = fresh.up(*TWO)

    assert healed.returncode == 0, healed.stderr
    assert mint(url)[1]["integer"] == 200_000_002, "above all that the lost table was allowed to mint"
    found = item(Deployed(aws, "global-integers-dev-counters"), "eu-west-1")
    assert found is not None
    assert found.epoch == 2
