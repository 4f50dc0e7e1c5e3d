"""The home region moves on real parts: no caller notices, and no integer is skipped."""

import json
from typing import Any

import pytest

from global_integers_core.records import ADMITTED_KEY
from local.aws_clients import Aws
from tests.local.machine import HANGING, Clients, Machine, kill_coordinators, mint

HOMES = HOME, NEW, FAR = ("us-east-1", "eu-west-1", "ap-southeast-2")
TWO = (HOME, NEW)
LAYOUTS = "global-integers-dev-layouts"


def at(home: str, **settings: Any) -> tuple[str, ...]:
    """Return the settings of `up` with another home region."""
    return (f"aws:region={home}", *(f"{name}={json.dumps(value)}" for name, value in settings.items()))


def move(machine: Machine, home: str, *regions: str, **settings: Any) -> str:
    """Move the home region, and return what `up` printed."""
    result = machine.up(*(regions or TWO), settings=at(home, **settings))
    assert result.returncode == 0, result.stderr
    return result.stdout


def homes(machine: Machine) -> dict[str, list[str]]:
    """Return region → what it has of the coordinator and its tables."""
    aws = Aws(machine.endpoint)
    found: dict[str, list[str]] = {}
    for region in HOMES:
        tables = aws.client("dynamodb", region).list_tables()["TableNames"]
        functions = [
            each.get("FunctionName", "") for each in aws.client("lambda", region).list_functions()["Functions"]
        ]
        names = [*tables, *functions]
        own = [each.rpartition("-")[2] for each in names if each.endswith(("-layouts", "-mirror", "-coordinate"))]
        found |= {region: sorted(own)} if own else {}
    return found


WHOLE = ["coordinate", "layouts", "mirror"]


def minted(urls: dict[str, str]) -> list[int]:
    return [mint(urls[region])[1]["integer"] for region in TWO]


def test_no_integer_is_skipped_and_no_caller_notices(fresh: Machine) -> None:
    """And once together with a change of regions, which begins another epoch as ever."""
    assert fresh.up(*TWO).returncode == 0
    urls = fresh.outputs()["urls"]
    before = minted(urls)

    preview = fresh.run("preview", *fresh.command(*TWO, settings=at(NEW))[3:]).stdout
    assert f"\nhome: {HOME} → {NEW}\n" in preview
    assert f"\nhome: {HOME} → {NEW}\n" in move(fresh, NEW)
    assert homes(fresh) == {NEW: WHOLE}
    assert f"home region {NEW}" in fresh.run("status").stdout
    assert [*before, *minted(urls)] == [1, 2, 3, 4]

    clients = Clients(urls)
    move(fresh, FAR)
    assert homes(fresh) == {FAR: WHOLE}
    clients.wait_for_more(TWO)
    assert fresh.outputs()["urls"] == urls
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 1
    move(fresh, HOME, NEW, leaving=[HOME])
    clients.wait_for_more([NEW])
    integers = clients.end()
    assert len(set(integers)) == len(integers)
    assert NEW not in clients.failed, clients.failed
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 2


def test_with_protect_the_next_deployment_deletes_what_is_left(fresh: Machine) -> None:
    assert fresh.up(HOME, settings=at(HOME, protect=True)).returncode == 0

    preview = fresh.run("preview", *fresh.command(HOME, settings=at(NEW, protect=True))[3:]).stdout
    assert f"home: {HOME} → {NEW} (run it twice: the next deployment protects it" in preview
    move(fresh, NEW, HOME, protect=True)
    assert homes(fresh) == {HOME: ["layouts", "mirror"], NEW: WHOLE}
    move(fresh, NEW, HOME, protect=True)
    assert homes(fresh) == {NEW: WHOLE}
    dynamodb = Aws(fresh.endpoint).client("dynamodb", NEW)
    assert dynamodb.describe_table(TableName=LAYOUTS)["Table"].get("DeletionProtectionEnabled")


CUTS = (
    ("coordinator-<new>-self", NEW),
    ("its claims", HOME),
    ("coordinator-<old>-layouts", FAR),
)
"""What is made or deleted last before the deployment is killed, and where the home is to be by the next one."""


@pytest.mark.long
def test_a_move_is_killed_and_repeated_reverted_or_replaced(fresh: Machine) -> None:
    assert fresh.up(*TWO).returncode == 0
    clients = Clients(fresh.outputs()["urls"], each=1)
    present = HOME

    for step, then in CUTS:
        to = NEW if present == HOME else HOME
        ends = f"integers-{step.replace('<new>', to).replace('<old>', present)}\n"
        with fresh.start(*fresh.command(*TWO, settings=at(to))) as process:
            if step == "its claims":
                wait_for_claims(fresh, to)
            else:
                assert process.stdout is not None
                assert next((line for line in process.stdout if line.endswith(ends)), None), step
            process.kill()
            kill_coordinators(fresh.folder)
            process.communicate(timeout=HANGING)
        present = {NEW: to, HOME: present, FAR: FAR}[then]
        move(fresh, present)
        assert homes(fresh) == {present: WHOLE}, step
    clients.wait_for_more(TWO)
    integers = clients.end()

    assert len(set(integers)) == len(integers)
    assert clients.failed == {}
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 1


def wait_for_claims(machine: Machine, region: str) -> None:
    """Wait until a move has claimed what the new home is to have, which it does before it writes the record there."""
    client, admitted = Aws(machine.endpoint).client("dynamodb", region), False
    while not admitted:
        try:
            key = {"counter": {"S": ADMITTED_KEY}}
            admitted = "Item" in client.get_item(TableName=LAYOUTS, Key=key, ConsistentRead=True)
        except client.exceptions.ResourceNotFoundException:
            continue
