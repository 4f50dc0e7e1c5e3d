"""What `status` says of everything that may have been lost, deleted, paused or interrupted."""

import re
import shlex
from collections.abc import Callable

import pytest

from local.aws_clients import Aws
from local.paths import command
from tests.local.machine import HANGING, Machine, chosen, up

HOME, OTHER = "us-east-1", "eu-west-1"
MINT = "global-integers-dev-mint"
BOTH = chosen(HOME, OTHER)
PAUSED = "paused, or it has too many requests"
AGAIN = f"to recreate it: {command('up --stack dev')} {shlex.join(BOTH)}"


@pytest.fixture(scope="module")
def pair(machines: Callable[[], Machine]) -> Machine:
    """Two regions. A test that changes them sets them back."""
    return up(machines(), HOME, OTHER)


def said(machine: Machine) -> dict[str, list[str]]:
    """Return what `status` says: of each region what is beside its name and below its URL; all else under ``."""
    shown = machine.run("status")
    assert (shown.returncode, shown.stderr) == (0, "")
    found: dict[str, list[str]] = {"": []}
    for line in shown.stdout.splitlines():
        if line.startswith("    "):
            found[[*found][-1]] += [] if line.startswith("    http://127.0.0.1:") else [line.strip()]
        elif line.startswith("  "):
            region, _, standing = line.strip().partition(": ")
            found[region] = [standing]
        else:
            found[""].append(line)
    return found


def mints(offset: int) -> list[str]:
    return [f"mints, offset {offset} of stride 2"]


def test_what_is_whole_is_said_in_a_line_each(pair: Machine) -> None:
    found = said(pair)

    assert (found[HOME], found[OTHER]) == (mints(1), mints(2))
    assert found[""] == [
        f"dev on {pair.endpoint} (process {pair.server()}), home region {HOME}",
        *("counter integers: epoch 1 from 1", "counter orders: epoch 1 from 1", "default counter: integers"),
    ]


def test_the_way_back_to_earlier_versions_is_shown(pair: Machine) -> None:
    assert pair.run("up", *BOTH, "-c", "memorySize=512").returncode == 0
    assert pair.run("send", '{"back": true}').returncode == 0

    note = "callers reach version 1 of its function, not 2, the last one deployed"
    assert said(pair) | {"": []} == {"": [], HOME: [*mints(1), note], OTHER: [*mints(2), note]}
    assert pair.run("up", *BOTH).returncode == 0
    assert said(pair)[HOME] == mints(1)


def test_what_is_changed_by_hand_is_named(pair: Machine) -> None:
    home, other = (Aws(pair.endpoint).client("lambda", region) for region in (HOME, OTHER))
    other.put_function_concurrency(FunctionName=MINT, ReservedConcurrentExecutions=0)
    home.delete_function_url_config(FunctionName=MINT, Qualifier="live")
    found = said(pair)
    assert (found[HOME], found[OTHER]) == ([f"can't be called: its Function URL is gone; {AGAIN}"], [PAUSED])
    home.delete_alias(FunctionName=MINT, Name="live")
    other.delete_function(FunctionName=MINT)
    home.delete_function(FunctionName="global-integers-dev-coordinate")
    found = said(pair)
    assert found[HOME] == found[OTHER] == [f"doesn't mint: its function or the alias live is gone; {AGAIN}"]
    assert f"global-integers-dev-coordinate or its alias is gone; {AGAIN}" in found[""]
    refused = pair.run("send", '{"schedule": true}')
    assert refused.stderr == f"error: global-integers-dev-coordinate or its alias is gone; {AGAIN}\n"


def test_an_interrupted_first_up_is_named(fresh: Machine) -> None:
    with fresh.start(*fresh.command(HOME, OTHER)) as process:
        assert process.stdout is not None
        assert next((line for line in process.stdout if "created   RolePolicy" in line), None)
        process.kill()
        process.communicate(timeout=HANGING)

    shown = fresh.run("status")

    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error: the first `up` of stack dev has not finished; to continue it: ")


def test_each_lost_table_and_ended_process_is_named(fresh: Machine) -> None:
    up(fresh, HOME, OTHER, settings=("apiGateway=true", "domain=integers.example.com", "hostedZone=example.com"))
    for name in ("gateway", "domain"):
        fresh.kill(name=name)
    lost = fresh.run("lose", HOME, "--layouts", "--mirror").stdout
    names = [f"global-integers-dev-{table} in {HOME}" for table in ("layouts", "mirror", "counters")]
    assert lost.startswith("".join(f"lost: table {name}\n" for name in names))
    assert f"there is no {names[-1]}; to recreate it: " in fresh.run("lose", HOME).stderr
    assert fresh.run("lose", OTHER, "--receipts").returncode == 0

    found = said(fresh)

    assert found[HOME][0].startswith("doesn't mint: ")
    assert found[HOME][1].startswith("its counters table is lost; to recreate it: ")
    assert found[OTHER][0] == "mints in epoch 1, with stride 2", "its offset is known from the lost table only"
    assert found[OTHER][1].startswith("its receipts table is lost; to recreate it: ")
    assert [line.partition(";")[0] for line in found[""] if re.search(" (lost|ended)", line)] == [
        *(f"the process that {what} has ended" for what in ("stands for the domain", "serves gatewayUrls")),
        *("the layouts table is lost", "the mirror table is lost"),
    ]
    assert not [line for line in found[""] if line.startswith("counter ")]
    refused = fresh.up(HOME, OTHER)
    assert (refused.returncode, "Neither the layouts table" in refused.stderr) == (1, True)
    unfinished = said(fresh)[""][1]
    assert unfinished.startswith("the last `up` was interrupted, or failed. To continue it, or to read why: ")
    assert shlex.split(unfinished)[-len(BOTH) :] == [*BOTH], "as it was called"
