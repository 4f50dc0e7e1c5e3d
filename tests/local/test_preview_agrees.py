"""What a preview says is what `up` does: resource by resource, and what is refused, in every flow of the runbook."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from global_integers_core.names import LOSS_ID
from local.aws_clients import Aws
from local.paths import ROOT
from local.stack import with_checksum
from tests.local.machine import HANGING, Machine, burn, mint

HOME, OTHER, THIRD = "us-east-1", "eu-west-1", "ap-southeast-2"
LAYOUTS = "global-integers-dev-layouts"
COUNTERS = "global-integers-dev-counters"

LINE = re.compile(r"  (create|update|replace|delete)d? +(\w+) +(\S+)")


@dataclass(frozen=True)
class Deployment:
    """A preview and an `up` with these settings. `refused` is in the error of both.

    `late` is in that of `up` only: the preview reads the deployment record, and no counter's register.
    """

    settings: Mapping[str, Any]
    refused: str = ""
    late: str = ""


Action = Callable[[Machine], None]
Flow = Sequence[Deployment | Action]


def to(
    *regions: str, home: str = HOME, protect: bool = False, refused: str = "", late: str = "", **settings: Any
) -> Deployment:
    """Return a deployment to these regions, by default the first home region and another one."""
    chosen = {"aws:region": home, "regions": list(regions) or [HOME, OTHER], "protect": protect, **settings}
    return Deployment(chosen, refused=refused, late=late)


def run(*arguments: str) -> Action:
    """Return the run of another command."""

    def act(machine: Machine) -> None:
        done = machine.run(*arguments)
        assert done.returncode == 0, done.stderr

    return act


def minted(region: str, above: int = 0) -> Action:
    """Return a mint there, which must be above an integer."""

    def act(machine: Machine) -> None:
        assert mint(machine.outputs()["urls"][region])[1]["integer"] > above

    return act


def interrupt(*regions: str) -> Action:
    """Return an `up` that is killed once it has made a table."""

    def act(machine: Machine) -> None:
        with machine.start(*machine.command(*regions, settings=("protect=false",))) as process:
            assert process.stdout is not None
            assert next((line for line in process.stdout if "created   Table" in line), None)
            process.kill()
            process.communicate(timeout=HANGING)

    return act


def forget(region: str) -> Action:
    """Return what `pulumi state delete` does with a region that never comes back."""

    def act(machine: Machine) -> None:
        state = machine.folder / "dev.json"
        whole = json.loads(state.read_text())
        remaining = [made for made in whole["resources"] if made["inputs"].get("region") != region]
        assert len(remaining) < len(whole["resources"])
        state.write_text(with_checksum(json.dumps({**whole, "resources": remaining})))

    return act


def unprotect_table(machine: Machine) -> None:
    client = Aws(machine.endpoint).client("dynamodb", HOME)
    arn = client.describe_table(TableName=COUNTERS)["Table"].get("TableArn", "")
    client.delete_resource_policy(ResourceArn=arn)


REGISTER: dict[str, Any] = {"counter": {"S": "integers"}}


def strayed(machine: Machine) -> None:
    Aws(machine.endpoint).client("dynamodb", HOME).put_item(TableName=LAYOUTS, Item={**REGISTER, "epoch": {"S": "x"}})


def removed(machine: Machine) -> None:
    Aws(machine.endpoint).client("dynamodb", HOME).delete_item(TableName=LAYOUTS, Key=REGISTER)


def no_role_of_the_old_home(machine: Machine) -> None:
    listed = Aws(machine.endpoint).client("iam", HOME).list_roles()["Roles"]
    assert not [each["RoleName"] for each in listed if each["RoleName"].endswith(HOME)]


ABOVE = 10**15

THAT_LOSS = {"loss": "<id>", "above": ABOVE}
"""The answer to the loss that was refused last."""

FLOWS: dict[str, Flow] = {
    "What heals by itself": (
        to(),
        minted(OTHER),
        run("lose", OTHER),
        run("lose", HOME, "--receipts", "--mirror"),
        to(),
        minted(OTHER, 2000),
        run("lose", "--layouts"),
        interrupt(HOME, OTHER, THIRD),
        to(HOME, OTHER, THIRD),
    ),
    "Remove a region": (
        to(protect=True),
        to(HOME, protect=True, refused="a region can't be removed before it has left"),
        to(HOME, protect=True, leaving=[OTHER]),
        to(HOME, protect=True),
    ),
    "A region that will never come back": (to(protect=True), forget(OTHER), to(HOME)),
    "Move the home region": (to(), to(home=OTHER), to(OTHER, home=THIRD, memorySize=512, leaving=[HOME])),
    "The home region is lost for ever": (
        to(),
        minted(OTHER),
        partial(burn, region=HOME),
        to(OTHER, home=OTHER, late="the home region: in us-east-1, which doesn't answer or lacks a table"),
        to(OTHER, home=OTHER, recovery=THAT_LOSS),
        minted(OTHER, ABOVE),
        no_role_of_the_old_home,
    ),
    "Two losses at once": (
        to(HOME),
        run("lose", "--layouts", "--mirror"),
        to(HOME, late="Neither the layouts table"),
        to(HOME, recovery=THAT_LOSS),
        minted(HOME, ABOVE),
        to(HOME),
    ),
    "Make a public stack private": (to(HOME, authorization="NONE"), to(HOME, authorization="AWS_IAM")),
    "Write into a protected table": (to(HOME, protect=True), unprotect_table, to(HOME, protect=True)),
    "A stray item": (
        to(),
        strayed,
        to(OTHER, HOME, late="the item of this counter in the layouts table can't be read"),
        removed,
        to(OTHER, HOME),
    ),
    "End a deployment": (to(HOME, protect=True), to(HOME), run("down")),
    "First deployment": (
        to(counters=["integers"], floors={"orders": 5}, refused="floors: 'orders' is not in counters"),
        to(paused=[OTHER], refused="paused: eu-west-1: a new region can't be paused"),
        to(
            apiGateway=True,
            domain="integers.example.com",
            hostedZone="example.com",
            window=1000,
            alarmEmails=["operator@shop.example"],
        ),
        to(memorySize=512),
        run("send", '{"back": true}'),
        to(memorySize=512, paused=[OTHER]),
    ),
    "On one machine": (
        to(HOME, openCounters=True),
        to(OTHER, HOME, counters=["integers", "tickets"], floors={"tickets": 50_000_000}, window=1_000_000),
        to(counters=["orders"], refused="defaultCounter: 'integers' is not in counters (orders)"),
        to(counters=["orders", "integers"], defaultCounter="orders", scheduleMinutes=9, waves=[[OTHER], [HOME]]),
    ),
}
"""Heading of the runbook → what it does, in order."""


def options(deployment: Deployment, loss: str) -> list[str]:
    written = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in deployment.settings.items()
    }
    return [word for key, value in written.items() for word in ("-c", f"{key}={value}".replace("<id>", loss))]


def events(output: str) -> set[tuple[str, str, str]]:
    """Return what happens to which resources: event, kind, name."""
    return {(found[1], found[2], found[3]) for found in map(LINE.fullmatch, output.splitlines()) if found}


def refusal(error: str) -> str:
    return error.removeprefix("error: ").removeprefix("global-integers-dev-coordinate: ")


def compare(machine: Machine, deployment: Deployment, loss: str) -> str:
    """Compare both, and return the id of the loss that was refused last."""
    chosen = options(deployment, loss)
    planned = machine.run("preview", *chosen)
    done = machine.run("up", "--port", str(machine.wanted_port), *chosen)
    if deployment.refused or deployment.late:
        assert done.returncode == 1
        assert deployment.refused + deployment.late in done.stderr
        assert (planned.returncode, refusal(planned.stderr)) == (
            (1, refusal(done.stderr)) if deployment.refused else (0, "")
        )
        return next(iter(LOSS_ID.findall(done.stderr)), loss)
    assert (planned.returncode, done.returncode) == (0, 0), planned.stderr + done.stderr
    expected, happened = events(planned.stdout), events(done.stdout)
    assert happened <= expected, chosen
    # An input that isn't known yet may turn out to be as before.
    assert {event for event, *_ in expected - happened} <= {"update", "replace"}, chosen
    after = machine.run("preview", *chosen)
    assert re.fullmatch(r"(at the last run, .*\n)?dev: \d+ unchanged; nothing was changed\n", after.stdout), (
        after.stdout
    )
    return loss


def test_every_flow_of_the_runbook_is_compared() -> None:
    assert [*FLOWS] == re.findall(r"^## (.*)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("heading", FLOWS)
def test_a_preview_says_what_up_does(fresh: Machine, heading: str) -> None:
    loss = ""
    for step in FLOWS[heading]:
        if isinstance(step, Deployment):
            loss = compare(fresh, step, loss)
        else:
            step(fresh)
