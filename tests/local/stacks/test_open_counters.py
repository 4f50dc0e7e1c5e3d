"""Counters that strangers create over HTTP, where `openCounters` is on: in every region, or nowhere."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.aws_clients import Aws
from tests.local.machine import HANGING, Machine, mint, up

TWO = ("us-east-1", "eu-west-1")
THREE = (*TWO, "ap-southeast-2")
OPEN = ("openCounters=true",)
CREATED = {200, 201}
"""A creation says 200 if its first response was lost: the function asked again, and the counter existed. On a busy
machine, the coordinator may start that slowly."""


@pytest.fixture
def urls(opened: Machine) -> dict[str, str]:
    return opened.outputs()["urls"]


def test_a_counter_is_created_in_every_region(urls: dict[str, str]) -> None:
    status, document = mint(urls["eu-west-1"], "invoices", "PUT")

    assert status in CREATED
    assert document == {
        "counter": "invoices",
        "epoch": 1,
        "base": 1,
        "limit": 3_000_000,
        "regions": {region: {"offset": n, "stride": 3} for n, region in enumerate(urls, 1)},
        "pending": [],
    }
    assert mint(urls["us-east-1"], "invoices", "PUT") == (200, document)
    assert [mint(url, "invoices")[1]["integer"] for url in urls.values()] == [1, 2, 3]


def test_a_counter_that_was_deleted_begins_above(opened: Machine, urls: dict[str, str]) -> None:
    assert mint(urls["eu-west-1"], "seasonal", "PUT")[0] in CREATED
    first = [mint(url, "seasonal")[1]["integer"] for url in urls.values()]
    coordinator = Aws(opened.endpoint).client("lambda", "us-east-1")

    payload = json.dumps({"delete": ["seasonal"]})
    answer = coordinator.invoke(FunctionName="global-integers-dev-coordinate:deployments", Payload=payload)

    assert json.load(answer["Payload"]) == {"deleted": ["seasonal"]}
    assert {mint(url, "seasonal")[0] for url in urls.values()} == {404}
    assert all("seasonal" not in mint(url, "-/counters?limit=250", "GET")[1]["counters"] for url in urls.values())
    status, document = mint(urls["us-east-1"], "seasonal", "PUT")
    assert status in CREATED
    assert first == [1, 2, 3]
    assert document["base"] == 3_000_001
    assert sorted(mint(url, "seasonal")[1]["integer"] for url in urls.values()) == [*range(3_000_001, 3_000_004)]


def test_two_creations_at_once_in_two_regions_make_one_counter(urls: dict[str, str]) -> None:
    for name in (f"race-{i}" for i in range(3)):
        with ThreadPoolExecutor(4) as pool:
            created = list(pool.map(lambda url, name=name: mint(url, name, "PUT"), [*urls.values()][:2] * 2))

        assert sorted(status for status, _ in created) in ([200, 200, 200, 201], [200, 200, 200, 200]), created
        assert all(document == created[0][1] for _, document in created)
        assert sorted(mint(url, name)[1]["integer"] for url in urls.values()) == [1, 2, 3]


@pytest.mark.long
def test_a_counter_created_during_a_change_of_layout_follows_it(fresh: Machine) -> None:
    machine = up(fresh, *TWO, settings=OPEN)
    urls = machine.outputs()["urls"]
    names = [f"during-{i}" for i in range(30)]
    with ThreadPoolExecutor(3) as pool, machine.start(*machine.command(*THREE, settings=OPEN)) as change:
        created = pool.map(lambda i: mint([*urls.values()][i % 2], names[i], "PUT")[0], range(len(names)))
        _, err = change.communicate(timeout=HANGING)
        assert change.returncode == 0, err
    assert set(created) <= CREATED

    urls = machine.outputs()["urls"]
    for name in (*names, "integers"):
        integers = [mint(url, name)[1]["integer"] for url in urls.values()]
        assert {n % 3 for n in integers} == {0, 1, 2}, (name, integers)
