"""What `status` says of everything that may have been lost, deleted, paused or interrupted."""

import json
import os
import shlex
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from global_integers_core.names import LOSS_ID
from local.aws_clients import Aws
from local.paths import command
from proof.faulty_server import Fault, Request, Response, Server, json_response
from tests.local.machine import HANGING, Machine, chosen, mint, up, write_state

HOME, OTHER = "us-east-1", "eu-west-1"
MINT = "global-integers-dev-mint"
BOTH = chosen(HOME, OTHER)


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
            found[[*found][-1]].append(line.strip())
        elif line.startswith("  "):
            region, _, standing = line.strip().partition(": ")
            found[region] = [standing]
        else:
            found[""].append(line)
    for region in found.keys() - {""}:
        if "can't be called yet" not in found[region][0]:
            assert found[region].pop(1).startswith("http://127.0.0.1:")
    return found


def mints(offset: int) -> list[str]:
    return [f"mints, offset {offset} of stride 2"]


def lambda_of(machine: Machine, region: str) -> Any:
    return Aws(machine.endpoint).client("lambda", region)


def test_what_is_whole_is_said_in_a_line_each(pair: Machine) -> None:
    found = said(pair)

    assert (found[HOME], found[OTHER]) == (mints(1), mints(2))
    first, *counters, default, alarms = found[""]
    assert first == f"dev on {pair.endpoint} (process {pair.server()}), home region {HOME}"
    assert counters == ["counter integers: epoch 1 from 1", "counter orders: epoch 1 from 1"]
    assert default == "default counter: integers"
    assert alarms == "alarms: 14 deployed; the local server evaluates none of them"


def test_the_way_back_to_earlier_versions_is_shown(pair: Machine) -> None:
    assert pair.run("up", *BOTH, "-c", "memorySize=512").returncode == 0
    assert said(pair)[HOME] == mints(1)

    back = pair.run("send", '{"back": true}')

    assert (back.returncode, set(json.loads(back.stdout)["back"])) == (0, {HOME, OTHER}), back.stderr
    for region, offset in ((HOME, 1), (OTHER, 2)):
        standing, note = said(pair)[region]
        assert [standing] == mints(offset)
        reached, last = [int(word) for word in note.replace(",", "").split() if word.isdecimal()]
        assert reached < last
        assert note == f"callers reach version {reached} of its function, not {last}, the last one deployed"
    assert pair.run("up", *BOTH).returncode == 0
    assert (said(pair)[HOME], said(pair)[OTHER]) == (mints(1), mints(2))


def test_what_is_deleted_by_hand_is_named(pair: Machine) -> None:
    home, other = lambda_of(pair, HOME), lambda_of(pair, OTHER)
    again = f"to recreate it: {command('up --stack dev')} {shlex.join(BOTH)}"

    home.delete_function_url_config(FunctionName=MINT, Qualifier="live")
    assert said(pair)[HOME] == [f"can't be called: its Function URL is gone; {again}"]
    home.delete_alias(FunctionName=MINT, Name="live")
    assert said(pair)[HOME] == [f"doesn't mint: the alias live of its function is gone; {again}"]
    other.delete_function(FunctionName=MINT)
    home.delete_function(FunctionName="global-integers-dev-coordinate")
    found = said(pair)
    assert found[OTHER] == [f"doesn't mint: its function is gone; {again}"]
    assert f"the coordinator's function is gone; {again}" in found[""]
    refused = pair.run("send", '{"schedule": true}')
    assert refused.stderr == f"error: global-integers-dev-coordinate or its alias is gone; {again}\n"

    assert pair.run("up", *BOTH).returncode == 0
    found = said(pair)
    assert (found[HOME], found[OTHER]) == (mints(1), mints(2))
    assert "gone" not in "".join(found[""])


@contextmanager
def answering(machine: Machine, code: int, detail: str) -> Generator[None]:
    """Let a region's URL answer so; with 0, nothing listens there, and with -1, the response ends too early."""
    state = machine.folder / "dev.json"
    whole = state.read_text()
    document = json.loads(whole)

    async def answer(_: Request) -> Response:
        return json_response({"detail": detail}, code)

    cut = [Fault(replies=(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",), end="close")] if code < 0 else []
    with Server(answer, cut) as server:
        document["outputs"]["urls"][OTHER] = f"{server.url if code else 'http://127.0.0.1:9'}/"
        write_state(state, document)
        try:
            yield
        finally:
            state.write_text(whole)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (502, "doesn't mint: its function fails (502: why)"),
        (504, "doesn't mint: its function fails (504: why)"),
        (500, "doesn't mint: 500, why"),
        (503, "doesn't mint: 503, why"),
        (404, "doesn't mint: 404, why"),
        (410, "leaving, mints no longer"),
        (429, "throttled: it gets more requests than it may serve at the same time (429)"),
        (0, "doesn't mint: no response (<urlopen error [Errno 111] Connection refused>)"),
        (-1, "doesn't mint: no response (IncompleteRead(1 bytes read, 8 more expected))"),
        (403, "mints, offset 2 of stride 2"),  # it wants a signature, so the function is asked
    ],
)
def test_a_region_stands_as_it_answers(pair: Machine, code: int, shown: str) -> None:
    with answering(pair, code, "why"):
        assert said(pair)[OTHER] == [shown]


def test_a_function_that_fails_does_not_mint(pair: Machine) -> None:
    client = lambda_of(pair, OTHER)
    before = client.get_alias(FunctionName=MINT, Name="live")["FunctionVersion"]
    settings = client.get_function_configuration(FunctionName=MINT)["Environment"]["Variables"]
    client.update_function_configuration(FunctionName=MINT, Handler="nonesuch.handler")
    broken = client.publish_version(FunctionName=MINT)["Version"]
    client.update_alias(FunctionName=MINT, Name="live", FunctionVersion=broken)

    standing, note = said(pair)[OTHER]

    assert standing.startswith("doesn't mint: its function fails (502: ")
    assert note == f"callers reach version {broken} of its function, not {before}, the last one deployed"
    client.update_function_configuration(
        FunctionName=MINT, Handler="mint.handler.handler", Environment={"Variables": settings}
    )
    client.update_alias(FunctionName=MINT, Name="live", FunctionVersion=before)
    assert said(pair)[OTHER] == mints(2)


def test_paused_and_leaving_regions_are_shown_as_such(pair: Machine) -> None:
    assert pair.run("up", *BOTH, "-c", f'paused=["{OTHER}"]').returncode == 0
    assert (said(pair)[HOME], said(pair)[OTHER]) == (mints(1), ["paused"])

    assert pair.run("up", *chosen(HOME), "-c", f'leaving=["{OTHER}"]').returncode == 0
    found = said(pair)
    assert (found[HOME], found[OTHER]) == (["mints, offset 1 of stride 1"], ["leaving, mints no longer"])

    assert pair.run("up", *BOTH).returncode == 0
    assert (said(pair)[HOME], said(pair)[OTHER]) == (mints(1), mints(2))


def test_a_counters_item_that_is_damaged_is_no_traceback(pair: Machine) -> None:
    client = Aws(pair.endpoint).client("dynamodb", HOME)
    stray: dict[str, Any] = {"counter": {"S": "stray"}, "epoch": {"N": "1"}}
    client.put_item(TableName="global-integers-dev-layouts", Item=stray)

    assert (
        "counter stray: its item in the layouts table can't be read; docs/runbook.md says what to do about a stray item"
        in said(pair)[""]
    )
    client.delete_item(TableName="global-integers-dev-layouts", Key={"counter": stray["counter"]})


def test_after_a_kill_of_the_server_it_says_how_to_go_on(pair: Machine) -> None:
    pair.kill()

    ended = pair.run("status")

    assert (ended.returncode, ended.stdout) == (1, "")
    first = ended.stderr.splitlines()[0]
    assert first.startswith(f"error: the local AWS server (process {pair.server()}) has ended. What it had is saved; ")
    assert shlex.split(first)[-len(BOTH) :] == [*BOTH], "as it was deployed"
    again = pair.run("up", *BOTH)
    assert "started again on " in again.stdout
    assert (said(pair)[HOME], said(pair)[OTHER]) == (mints(1), mints(2))


def test_an_interrupted_first_up_is_named(fresh: Machine) -> None:
    with fresh.start(*fresh.command(HOME, OTHER)) as process:
        assert process.stdout is not None
        assert next((line for line in process.stdout if "created   RolePolicy" in line), None)
        process.kill()
        process.communicate(timeout=HANGING)

    shown = fresh.run("status")

    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error: the first `up` of stack dev has not finished; to continue it: ")
    assert mint(up(fresh, HOME, OTHER).outputs()["urls"][OTHER])[1]["integer"] == 2


def test_up_lets_a_new_receipts_table_know_its_layouts(fresh: Machine) -> None:
    url = up(fresh, HOME, OTHER).outputs()["urls"][OTHER]
    integer = mint(url)[1]["integer"]
    assert fresh.run("lose", OTHER, "--receipts").returncode == 0
    assert "a scheduled run has recorded the layouts there" in fresh.up(HOME, OTHER).stdout
    assert mint(url, f"integers/{integer}", "GET")[1]["minted"] is True


def test_each_lost_table_is_named_until_up_recreates_it(fresh: Machine) -> None:
    up(fresh, HOME, OTHER)
    lost = fresh.run("lose", HOME, "--layouts", "--mirror").stdout
    names = [f"global-integers-dev-{table} in {HOME}" for table in ("layouts", "mirror", "counters")]
    assert lost.startswith("".join(f"lost: table {name}\n" for name in names))
    assert f"{names[-1]} is lost already; to recreate it: " in fresh.run("lose", HOME).stderr
    assert fresh.run("lose", OTHER, "--receipts").returncode == 0

    found = said(fresh)
    state = fresh.folder / "dev.json"
    whole = json.loads(state.read_text())
    others = [made for made in whole["resources"] if made["type"] != "aws:dynamodb/table:Table"]
    write_state(state, {**whole, "resources": others})
    assert said(fresh) == found, "also after an `up` that was killed before it made them again"

    assert found[HOME][0].startswith("doesn't mint: its counters table is lost; to recreate it: ")
    assert found[OTHER][0] == "mints in epoch 1, with stride 2", "its offset is known from the lost tables only"
    assert found[OTHER][1].startswith("its receipts table is lost; to recreate it: ")
    gone = [line.partition(";")[0] for line in found[""] if "lost" in line]
    assert gone == [f"the {table} table is lost" for table in ("layouts", "mirror")]
    assert not [line for line in found[""] if line.startswith("counter ")]
    refused = fresh.run("up", *BOTH)
    assert (refused.returncode, "Neither the layouts table" in refused.stderr) == (1, True)
    unfinished = said(fresh)[""][1]
    assert "the last `up` was interrupted, or failed. To continue it, or to read why: " in unfinished
    assert shlex.split(unfinished)[-len(BOTH) :] == [*BOTH], "as it was called"
    (loss,) = {*LOSS_ID.findall(refused.stderr)}
    answer = f'recovery={{"loss": "{loss}", "above": 1000000000}}'
    assert fresh.up(HOME, OTHER, settings=(answer,)).returncode == 0
    found = said(fresh)
    assert (found[HOME], found[OTHER]) == (mints(1), mints(2))
    assert "not finished" not in "".join(found[""])
    assert fresh.up(HOME, OTHER).returncode == 0


def test_processes_that_serve_gateways_and_domain_are_asked_for(fresh: Machine) -> None:
    settings = ("apiGateway=true", "domain=integers.example.com", "hostedZone=example.com")
    up(fresh, HOME, settings=settings)
    assert not [line for line in said(fresh)[""] if "has ended" in line]
    for name in ("gateway", "domain"):
        os.killpg(json.loads((fresh.folder / f"{name}.json").read_text())["pid"], signal.SIGKILL)

    ended = [line.partition(";")[0] for line in said(fresh)[""] if "has ended" in line]

    assert ended == [f"the process that {what} has ended" for what in ("stands for the domain", "serves gatewayUrls")]
    assert fresh.up(HOME, settings=settings).returncode == 0
    assert not [line for line in said(fresh)[""] if "has ended" in line]
