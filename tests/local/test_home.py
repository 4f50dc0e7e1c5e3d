"""The home region moves, and is lost for ever, on real parts: no caller notices, and no integer is skipped."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest

from global_integers_core.records import ADMITTED_KEY
from local.aws_clients import Aws
from tests.local.machine import HANGING, Clients, Machine, burn, kill_coordinators, mint

THREE = ("us-east-1", "eu-west-1", "ap-southeast-2")
HOME, NEW, FAR = THREE
LAYOUTS, MIRROR = "global-integers-dev-layouts", "global-integers-dev-mirror"


def at(home: str, **settings: Any) -> tuple[str, ...]:
    """Return the settings of `up` with another home region."""
    return (f"aws:region={home}", *(f"{name}={json.dumps(value)}" for name, value in settings.items()))


def move(machine: Machine, home: str, *regions: str, **settings: Any) -> str:
    """Move the home region, and return what `up` printed."""
    result = machine.up(*(regions or THREE), settings=at(home, **settings))
    assert result.returncode == 0, result.stderr
    return result.stdout


def homes(machine: Machine) -> dict[str, list[str]]:
    """Return region → what it has of the coordinator and its tables."""
    aws = Aws(machine.endpoint)
    found: dict[str, list[str]] = {}
    for region in THREE:
        tables = aws.client("dynamodb", region).list_tables()["TableNames"]
        functions = [
            each.get("FunctionName", "") for each in aws.client("lambda", region).list_functions()["Functions"]
        ]
        names = [*tables, *functions]
        own = [each.rpartition("-")[2] for each in names if each.endswith(("-layouts", "-mirror", "-coordinate"))]
        found |= {region: sorted(own)} if own else {}
    return found


WHOLE = ["coordinate", "layouts", "mirror"]


def roles(machine: Machine) -> list[str]:
    listed = Aws(machine.endpoint).client("iam", HOME).list_roles()["Roles"]
    return [each["RoleName"] for each in listed if "-coordinate-" in each["RoleName"]]


def epochs(machine: Machine) -> set[int]:
    return {each["epoch"] for each in machine.outputs()["counters"].values()}


@pytest.mark.long
def test_the_home_moves_under_traffic_and_back(fresh: Machine) -> None:
    """And once together with a change of regions, which begins another epoch as ever."""
    assert fresh.up(*THREE).returncode == 0
    clients = Clients(fresh.outputs()["urls"])

    for home in (NEW, FAR, HOME):
        assert f"→ {home}" in move(fresh, home)
        assert homes(fresh) == {home: WHOLE}
        assert roles(fresh) == [f"global-integers-dev-coordinate-{home}"]
        clients.wait_for_more(THREE)
    assert epochs(fresh) == {1}
    assert "74 unchanged" in move(fresh, HOME)
    move(fresh, NEW, *THREE[1:], leaving=[HOME])
    clients.wait_for_more(THREE[1:])
    move(fresh, FAR)
    integers = clients.end()

    assert len(set(integers)) == len(integers)
    assert not clients.failed.keys() & {*THREE[1:]}, clients.failed
    assert epochs(fresh) == {3}


def test_no_integer_is_skipped_and_no_url_changes(fresh: Machine) -> None:
    assert fresh.up(*THREE).returncode == 0
    urls = fresh.outputs()["urls"]
    before = [mint(urls[region])[1]["integer"] for region in THREE]

    preview = fresh.run("preview", "-c", f"aws:region={NEW}").stdout
    assert f"\nhome: {HOME} → {NEW}\n" in preview
    assert f"\nhome: {HOME} → {NEW}\n" in move(fresh, NEW)

    assert fresh.outputs()["urls"] == urls
    assert [*before, *(mint(urls[region])[1]["integer"] for region in THREE)] == [1, 2, 3, 4, 5, 6]
    status = fresh.run("status").stdout
    assert f"home region {NEW}" in status
    assert HOME not in status.partition("\n")[0]


def test_with_protect_the_next_deployment_deletes_what_is_left(fresh: Machine) -> None:
    assert fresh.up(*THREE, settings=at(HOME, protect=True)).returncode == 0

    preview = fresh.run("preview", "-c", f"aws:region={NEW}", "-c", "protect=true").stdout
    assert f"home: {HOME} → {NEW} (run it twice: the next deployment protects it" in preview
    move(fresh, NEW, protect=True)
    assert homes(fresh) == {HOME: ["layouts", "mirror"], NEW: WHOLE}
    move(fresh, NEW, protect=True)
    assert homes(fresh) == {NEW: WHOLE}
    assert "unchanged\n" in move(fresh, NEW, protect=True)
    dynamodb = Aws(fresh.endpoint).client("dynamodb", NEW)
    assert dynamodb.describe_table(TableName=LAYOUTS)["Table"].get("DeletionProtectionEnabled")
    assert fresh.up(*THREE, settings=at(NEW, protect=False)).returncode == 0


STEPS = (
    "coordinator-<new>-mirror",
    "coordinator-<new>-self",
    "coordinator-<new>-release-us-east-1",
    "coordinator-<new>-reconcile",
    "monitoring-<old>-any",
    "coordinator-<old>-layouts",
)
"""What is made or deleted last before the deployment is killed."""


@pytest.mark.long
@pytest.mark.parametrize("then", [NEW, HOME, FAR])
def test_a_move_is_killed_anywhere_and_repeated_reverted_or_replaced(fresh: Machine, then: str) -> None:
    assert fresh.up(*THREE).returncode == 0
    clients = Clients(fresh.outputs()["urls"], each=1)
    present = HOME

    for step in STEPS[{NEW: 0, HOME: 1, FAR: 2}[then] :: 3]:
        to = NEW if present == HOME else HOME
        ends = f"integers-{step.replace('<new>', to).replace('<old>', present)}\n"
        with fresh.start(*fresh.command(*THREE, settings=at(to))) as process:
            assert process.stdout is not None
            assert next((line for line in process.stdout if line.endswith(ends)), None), step
            process.kill()
            process.communicate(timeout=HANGING)
        kill_coordinators(fresh.folder)
        present = {NEW: to, HOME: present, FAR: FAR}[then]
        move(fresh, present)
        assert homes(fresh) == {present: WHOLE}, step
        assert move(fresh, present).count("74 unchanged") == 1, step
        if present == FAR:
            present = HOME
            move(fresh, present)
    clients.wait_for_more(THREE)
    integers = clients.end()

    assert len(set(integers)) == len(integers)
    assert clients.failed == {}
    assert epochs(fresh) == {1}


@pytest.mark.long
@pytest.mark.parametrize(("then", "protect"), [(NEW, True), (HOME, False), (FAR, True)])
def test_a_move_is_killed_between_its_claims_and_its_record(fresh: Machine, then: str, *, protect: bool) -> None:
    assert fresh.up(*THREE, settings=at(HOME, protect=protect)).returncode == 0
    urls = fresh.outputs()["urls"]
    before = [mint(urls[region])[1]["integer"] for region in THREE]
    dynamodb = Aws(fresh.endpoint).client("dynamodb", NEW)

    with fresh.start(*fresh.command(*THREE, settings=at(NEW, protect=protect))) as process:
        admitted: Any = {}
        while not admitted and process.poll() is None:
            with suppress(dynamodb.exceptions.ResourceNotFoundException):
                key = {"counter": {"S": ADMITTED_KEY}}
                admitted = dynamodb.get_item(TableName=LAYOUTS, Key=key, ConsistentRead=True).get("Item", {})
        process.kill()
        kill_coordinators(fresh.folder)
        process.communicate(timeout=HANGING)
    move(fresh, then, protect=protect)
    move(fresh, then, protect=protect)

    assert homes(fresh) == {then: WHOLE}
    assert fresh.run("send", '{"schedule": true}').stdout.startswith('{"counters"')
    assert " unchanged\n" in move(fresh, then, protect=protect)
    assert [*before, *(mint(urls[region])[1]["integer"] for region in THREE)] == [1, 2, 3, 4, 5, 6]
    assert fresh.up(*THREE, settings=at(then, protect=False)).returncode == 0


LOSSES: dict[str, tuple[tuple[str, str], ...]] = {
    "the layouts table": ((HOME, LAYOUTS),),
    "the mirror": ((HOME, MIRROR),),
    "a counters table": ((FAR, "global-integers-dev-counters"),),
    "a receipts table": ((NEW, "global-integers-dev-receipts"),),
}


@pytest.mark.long
@pytest.mark.parametrize("lost", LOSSES)
def test_a_move_with_a_lost_table(fresh: Machine, lost: str) -> None:
    assert fresh.up(*THREE).returncode == 0
    urls = fresh.outputs()["urls"]
    before = [mint(urls[region])[1]["integer"] for region in THREE]
    for region, table in LOSSES[lost]:
        Aws(fresh.endpoint).client("dynamodb", region).delete_table(TableName=table)

    if lost in ("the layouts table", "the mirror"):
        refused = fresh.up(*THREE, settings=at(NEW))
        assert refused.returncode == 1
        assert (
            f"in {HOME} is gone. To move the home region to {NEW}, set aws:region to {HOME} once more" in refused.stderr
        )
        assert list(homes(fresh)) == [HOME]
        move(fresh, HOME)
    move(fresh, NEW)

    assert homes(fresh) == {NEW: WHOLE}
    after = [mint(urls[region])[1]["integer"] for region in THREE]
    assert len({*before, *after}) == 6
    assert epochs(fresh) == ({2} if lost == "a counters table" else {1})


def test_it_is_lost_for_ever_and_the_stack_goes_on(fresh: Machine) -> None:
    """As the runbook says. It minted, too, so the answer is above what only it can know."""
    assert fresh.up(*THREE).returncode == 0
    urls = fresh.outputs()["urls"]
    before = [mint(urls[region])[1]["integer"] for region in THREE]
    burn(fresh, HOME)
    rest = THREE[1:]

    refused = fresh.up(*rest, settings=at(NEW))
    assert refused.returncode == 1
    assert f"the home region: in {HOME}, which doesn't answer or lacks a table" in refused.stderr
    (loss,) = set(re.findall(r"loss-[0-9a-f]+-[0-9]+", refused.stderr))
    least = int(refused.stderr.partition("Use ")[2].partition(" ")[0])
    move(fresh, NEW, *rest, recovery={"loss": loss, "above": least})

    assert homes(fresh) == {NEW: WHOLE}
    assert roles(fresh) == [f"global-integers-dev-coordinate-{NEW}"]
    now = fresh.outputs()["urls"]
    assert now == {region: urls[region] for region in rest}
    after = [mint(now[region])[1]["integer"] for region in rest]
    assert min(after) > max(*before, least)
    assert "unchanged\n" in move(fresh, NEW, *rest, recovery={"loss": loss, "above": least})
