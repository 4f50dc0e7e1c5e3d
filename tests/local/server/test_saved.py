"""What the local server has outlives it: whatever ended it, `up` brings it back at its URLs, with greater integers."""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.server.saved import DATABASE, SCHEMA, _may_change
from tests.local.machine import HANGING, Machine, integers_of, mint, up

pytestmark = pytest.mark.server

US, EU = "us-east-1", "eu-west-1"
OPEN = ("openCounters=true", "lease=10")


@pytest.fixture(scope="module")
def mortal(machines: Callable[[], Machine]) -> Machine:
    """One region. A test that kills the server starts it again."""
    return up(machines(), US)


def items(machine: Machine) -> list[str]:
    """Return all items of a region's tables but those of the check, from which every `up` mints."""
    client = Aws(machine.endpoint).client("dynamodb", US)
    found = [item for name in client.list_tables()["TableNames"] for item in client.scan(TableName=name)["Items"]]
    return sorted(json.dumps(item, sort_keys=True) for item in found if item.get("counter") != {"S": "-check"})


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_all_is_as_before(fresh: Machine, sign: signal.Signals) -> None:
    settings = ('counters=["integers", "orders"]', "openCounters=true")
    assert fresh.up(US, EU, settings=settings).returncode == 0
    urls = fresh.outputs()["urls"]
    mint(urls[EU], "made-later", "PUT")
    mint(urls[US], "orders?count=5")
    key = {"Idempotency-Key": "order-1"}
    keyed = mint(urls[US], headers=key)
    before = items(fresh)

    fresh.kill(sign)
    again = fresh.up(US, EU, settings=settings)

    assert again.returncode == 0, again.stderr
    assert "started again on" in again.stdout
    assert items(fresh) == before
    assert not {"created", "updated", "replaced", "deleted"} & {*again.stdout.split()}
    assert fresh.outputs()["urls"] == urls
    assert mint(urls[US], headers=key) == keyed
    assert mint(urls[US], "orders")[1]["integer"] == 11
    assert mint(urls[EU], "made-later")[1]["integer"] == 2


@pytest.mark.parametrize("last", ["updated   Function", "replaced  Invocation", "dev: "])
def test_after_a_kill_callers_reach_what_the_next_up_deploys(fresh: Machine, last: str) -> None:
    """Wherever a second `up` was, and right after it."""
    assert fresh.up(US).returncode == 0
    settings = ("memorySize=512",)
    with fresh.start(*fresh.command(US, settings=settings)) as deploying:
        assert deploying.stdout is not None
        assert next((line for line in deploying.stdout if last in line), None)
        fresh.kill()
        deploying.communicate(timeout=HANGING)

    again = fresh.up(US, settings=settings)

    assert again.returncode == 0, again.stderr
    status = fresh.run("status").stdout
    assert "us-east-1: mints, offset 1 of stride 1\n" in status
    assert "callers reach version" not in status


@pytest.mark.parametrize(
    ("method", "asked", "changes"),
    [
        ("GET", "/2015-03-31/functions/mint", False),
        ("PUT", "/2015-03-31/functions/mint", True),
        ("GET", "/?Action=DeleteRole", True),
        ("POST", "Action=GetRole&RoleName=mint", False),
        ("POST", "Action=DeleteRole&RoleName=mint", True),
        ("POST", "Action=GetSessionToken", True),
        ("POST", "RoleName=mint&Action=GetRole", True),
        ("POST", "DynamoDB_20120810.DescribeTable", False),
        ("POST", "DynamoDB_20120810.PutItem", False),
        ("POST", "DynamoDB_20120810.DeleteTable", True),
    ],
)
def test_what_may_change_a_state_is_known_by_its_name(method: str, asked: str, changes: bool) -> None:
    """By the path, the beginning of the body or the header. Whatever isn't known may change one."""
    headers = [(b"x-amz-target", asked.encode())] if asked.startswith("DynamoDB") else []
    scope = {"method": method, "headers": headers, "query_string": asked.partition("?")[2].encode()}

    assert _may_change(scope, b"" if headers or asked.startswith("/") else asked.encode()) == changes


def test_an_answer_is_on_the_disk_before_it_is_given(tmp_path: Path) -> None:
    """So a power failure loses nothing: it is a kill, of which only the disk's own cache could forget more."""
    database = sqlite3.connect(tmp_path / DATABASE)
    database.executescript(SCHEMA)
    full = 2
    assert [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "fullfsync")] == [full, 1]


def flipped(whole: bytes) -> bytes:
    """Change one digit of what is stored of a counter."""
    at = whole.rindex(b'"issued": {"N": "') + len(b'"issued": {"N": "')
    return whole[:at] + (b"8" if whole[at : at + 1] == b"9" else b"9") + whole[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[: len(whole) // 2],
    "overwritten": lambda whole: b"\x00\xff" + whole[2:],
    "of another type": lambda _whole: b"[5]\n",
    "a digit changed": flipped,
    "a bit of a text": lambda whole: whole.replace(b'"issued"', b'"is\xf3ued"'),
}


def test_a_damaged_file_is_named_and_nothing_begins_at_1(fresh: Machine) -> None:
    assert fresh.up(US).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    mint(url)
    fresh.kill()
    saved = fresh.folder / "saved"
    database = saved / DATABASE
    whole = database.read_bytes()

    for damage, change in DAMAGES.items():
        changed = change(whole)
        assert changed != whole
        database.write_bytes(changed)
        for refused in (fresh.up(US), fresh.run("status")):
            assert (damage, refused.returncode) == (damage, 1)
            assert f"{database} is damaged" in refused.stderr
            assert "Traceback" not in refused.stderr
            assert re.search(r"Put this file back as .* or start afresh, from 1: ", refused.stderr)
        database.write_bytes(whole)

    saved.rename(fresh.folder / "elsewhere")
    assert "what it had is not saved; start afresh, from 1: " in fresh.up(US).stderr, "also after a failed start"
    (fresh.folder / "elsewhere").rename(saved)
    assert fresh.up(US).returncode == 0
    assert mint(url)[1]["integer"] == 2


def test_a_second_server_in_the_same_folder_is_refused(mortal: Machine) -> None:
    second = sqlite3.connect(mortal.folder / "saved" / DATABASE, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        second.executescript(SCHEMA)
    second.close()


def test_without_its_file_nothing_is_answered_that_would_be_forgotten(fresh: Machine) -> None:
    assert fresh.up(US).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    shutil.rmtree(fresh.folder / "saved")
    with pytest.raises((OSError, HTTPException)):
        mint(url)

    for command in ("up", "status", "preview"):
        lost = fresh.run(command)
        assert (lost.returncode, "what it had is not saved; start afresh, from 1: " in lost.stderr) == (1, True)
    assert fresh.run("down").returncode == 0
    assert fresh.up(US).returncode == 0


def cut_the_power(machine: Machine) -> None:
    """Leave the files as they are at some moment. That SQLite has synced them is not seen here (`SCHEMA`)."""
    saved, left = machine.folder / "saved", machine.folder / "left"
    os.kill(machine.server(), signal.SIGSTOP)
    shutil.copytree(saved, left)
    machine.kill()
    shutil.rmtree(saved)
    left.rename(saved)


def kill_while_it_starts(machine: Machine) -> None:
    machine.kill()
    before = machine.server()
    with machine.start(*machine.command(US, EU, settings=OPEN)) as starting:
        while machine.server() == before:
            time.sleep(0.01)
        time.sleep(random.random())
        machine.kill()
        starting.communicate(timeout=HANGING)


def kill_while_the_layout_changes(machine: Machine) -> None:
    with machine.start(*machine.command(*random.sample((US, EU), 2), settings=OPEN)) as deploying:
        time.sleep(2 * random.random())
        machine.kill()
        deploying.communicate(timeout=HANGING)


@pytest.mark.long
def test_no_integer_twice_whatever_has_ended_it(fresh: Machine) -> None:
    """Clients mint blocks and make counters meanwhile. Each of them goes on at the same URL, with greater integers."""
    assert fresh.up(US, EU, settings=OPEN).returncode == 0
    urls = fresh.outputs()["urls"]
    seen: dict[str, list[int]] = {"": [], "orders": [], "made": []}
    stop, lock = threading.Event(), threading.Lock()

    def call(region: str, number: int) -> None:
        while not stop.is_set():
            counter = ("", "orders", "made")[number % 3]
            number += 1
            try:
                status, document = mint(urls[region], f"{counter}?count={1 + number % 7}")
                if status == 404:
                    mint(urls[region], counter, "PUT")
            except (OSError, HTTPException, ValueError):
                time.sleep(0.05)
                continue
            if status == 200:
                with lock:
                    seen[counter] += integers_of(document)

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(call, region, number) for number, region in enumerate((US, EU, US, EU))]
        for end in (Machine.kill, kill_while_the_layout_changes, cut_the_power, kill_while_it_starts):
            enough, deadline = len(seen[""]) + 20, time.monotonic() + HANGING
            while len(seen[""]) < enough:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            end(fresh)
            result = fresh.up(US, EU, settings=OPEN)
            assert result.returncode == 0, result.stderr
            assert fresh.outputs()["urls"] == urls
        stop.set()
        for each in running:
            each.result(HANGING)

    for counter, integers in seen.items():
        assert len(integers) == len({*integers}), counter
        assert len(integers) > 50
