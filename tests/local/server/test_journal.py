"""What the local server has outlives it: whatever ended it, `up` brings it back at its URLs, with greater integers."""

import json
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.aws_clients import Aws
from tests.local.machine import HANGING, Machine, integers_of, mint, up

pytestmark = pytest.mark.server

US, EU = "us-east-1", "eu-west-1"


@pytest.fixture(scope="module")
def mortal(machines: Callable[[], Machine]) -> Machine:
    """One region. A test that kills the server starts it again."""
    return up(machines(), US)


LISTED = {
    "lambda": ("list_functions",),
    "dynamodb": ("list_tables",),
    "events": ("list_rules",),
    "cloudwatch": ("describe_alarms", "list_dashboards"),
    "logs": ("describe_log_groups",),
    "sqs": ("list_queues",),
}
"""What is listed of every service, in every region."""

OF_FUNCTION = (
    *("list_aliases", "list_versions_by_function", "list_function_url_configs", "get_function_concurrency"),
    "list_function_event_invoke_configs",
)
OF_TABLE = ("describe_table", "describe_time_to_live", "describe_continuous_backups")
OF_ARN = ("get_resource_policy", "list_tags_of_resource")

CHANGING = frozenset(
    {"ResponseMetadata", "LastUsed", "storedBytes", "nextToken", "StateUpdatedTimestamp"}
    | {"EarliestRestorableDateTime", "LatestRestorableDateTime"}
)
"""What another look shows differently, or what says how often somebody has looked."""


def described(aws: Aws) -> dict[str, Any]:
    """Return what the API says of all that there is in two regions, with all items of all tables."""
    found: dict[str, Any] = {}

    def ask(region: str, service: str, call: str, **named: str) -> Any:
        client: Any = aws.client(service, region)  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportCallIssue]
        try:
            said = getattr(client, call)(**named)
        except ClientError as error:
            said = str(error)  # there is none
        found[f"{region} {call} {named}"] = said
        return said

    for region in (US, EU):
        listed = {call: ask(region, service, call) for service, calls in LISTED.items() for call in calls}
        for name in (function["FunctionName"] for function in listed["list_functions"]["Functions"]):
            of_function = {call: ask(region, "lambda", call, FunctionName=name) for call in OF_FUNCTION}
            for alias in of_function["list_aliases"]["Aliases"]:
                ask(region, "lambda", "get_policy", FunctionName=name, Qualifier=alias["Name"])
        for name in listed["list_tables"]["TableNames"]:
            of_table = {call: ask(region, "dynamodb", call, TableName=name) for call in OF_TABLE}
            for call in OF_ARN:
                ask(region, "dynamodb", call, ResourceArn=of_table["describe_table"]["Table"]["TableArn"])
            found[f"{region} items of {name}"] = items_of(aws.client("dynamodb", region), name)
        for rule in listed["list_rules"]["Rules"]:
            ask(region, "events", "list_targets_by_rule", Rule=rule["Name"])
    for name in (role["RoleName"] for role in ask(US, "iam", "list_roles")["Roles"]):
        for policy in ask(US, "iam", "list_role_policies", RoleName=name)["PolicyNames"]:
            ask(US, "iam", "get_role_policy", RoleName=name, PolicyName=policy)
    return json.loads(json.dumps(without_changing(found), default=str, sort_keys=True))


def items_of(client: Any, table: str) -> list[str]:
    """Return all items but that of the check, from which every `up` mints."""
    found = client.scan(TableName=table, ConsistentRead=True)["Items"]
    return sorted(json.dumps(item, sort_keys=True) for item in found if item.get("counter") != {"S": "-check"})


def without_changing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_changing(each) for key, each in value.items() if key not in CHANGING}  # pyright: ignore
    return [without_changing(each) for each in value] if isinstance(value, list) else value  # pyright: ignore


def snapshot(machine: Machine) -> str:
    """Return what the snapshot has; "" while a newer one takes its place."""
    with suppress(FileNotFoundError):
        return "".join(path.read_text() for path in (machine.folder / "saved").glob("snapshot-*.json"))
    return ""


def snapshot_is_written(machine: Machine) -> None:
    """Wait until nothing changes any more that isn't in the journal."""
    before, same = "", 0
    while same < 30:
        now = " ".join(sorted(path.name for path in (machine.folder / "saved").glob("snapshot-*")))
        before, same = now, same + 1 if now and now == before else 0
        time.sleep(0.1)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_all_is_as_before(fresh: Machine, sign: signal.Signals) -> None:
    settings = ('counters=["integers", "orders"]', "openCounters=true")
    assert fresh.up(US, EU, settings=settings).returncode == 0
    urls = fresh.outputs()["urls"]
    aws = Aws(fresh.endpoint)
    aws.client("sqs", US).create_queue(QueueName="mine")
    while '"mine"' not in snapshot(fresh):  # queues are in no journal
        time.sleep(0.05)
    mint(urls[EU], "made-later", "PUT")
    mint(urls[US], "orders?count=5")
    key = {"Idempotency-Key": "order-1"}
    keyed = mint(urls[US], headers=key)
    before = described(aws)

    fresh.kill(sign)
    again = fresh.up(US, EU, settings=settings)

    assert again.returncode == 0, again.stderr
    assert "started again on" in again.stdout
    assert described(Aws(fresh.endpoint)) == before
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


def test_a_call_goes_on_at_the_same_url(mortal: Machine) -> None:
    """A service that runs meanwhile sees refused connections, and then greater integers."""
    (url,) = mortal.outputs()["urls"].values()
    seen: list[int] = []
    failed = threading.Event()
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            try:
                status, document = mint(url)
            except (OSError, HTTPException, ValueError):
                failed.set()
                time.sleep(0.05)
                continue
            if status == 200:
                seen.append(document["integer"])

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call)
        while len(seen) < 5:
            time.sleep(0.01)
        mortal.kill()
        assert failed.wait(HANGING)
        assert mortal.up(US).returncode == 0
        count = len(seen)
        while len(seen) < count + 5:
            time.sleep(0.01)
        stop.set()
        running.result(HANGING)

    assert seen == sorted({*seen})


def of_another_boot(journal: str) -> str:
    """Return what is left of a journal after a power failure."""
    first, *rest = journal.splitlines(keepends=True)
    changes = json.loads(first)
    assert changes[0][0] == "boot"
    changes[0][1] = "another"
    return "".join([json.dumps(changes) + "\n", *rest[:-1]])


def cut_off(journal: str) -> str:
    return journal[:-20]


@pytest.mark.parametrize("left", [of_another_boot, cut_off])
def test_where_its_end_may_lack_integers_begin_above_all(fresh: Machine, left: Callable[[str], str]) -> None:
    assert fresh.up(US).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    limit = fresh.outputs()["counters"]["integers"]["limit"]
    snapshot_is_written(fresh)
    assert mint(url)[1]["integer"] == 1
    fresh.kill()
    (journal,) = (fresh.folder / "saved").glob("journal-*")
    journal.write_text(left(journal.read_text()))
    refused = fresh.up(US, settings=("lease=abc",))
    assert (refused.returncode, "started again on " in refused.stdout) == (1, True)
    assert fresh.run("send", '{"schedule": true}').returncode == 0
    fresh.kill()  # the loss isn't forgotten

    result = fresh.up(US)

    assert result.returncode == 0, result.stderr
    assert "created   Table" in result.stdout
    assert "The end of what it saved may be missing: " in refused.stdout
    assert mint(url)[1]["integer"] > limit


def test_a_snapshot_that_was_being_written_is_ignored(mortal: Machine) -> None:
    (url,) = mortal.outputs()["urls"].values()
    snapshot_is_written(mortal)
    minted = [mint(url)[1]["integer"] for _ in range(3)]
    mortal.kill()
    (snapshot,) = (mortal.folder / "saved").glob("snapshot-*.json")
    snapshot.with_name("snapshot-999.new").write_text('{"dynamodb": ')

    assert mortal.up(US, settings=("lease=abc",)).returncode == 1, "the server runs"
    minted.append(mint(url)[1]["integer"])
    mortal.kill()
    assert mortal.up(US).returncode == 0
    assert mint(url)[1]["integer"] == minted[-1] + 1


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "cut": lambda whole: whole[:-50],
    "overwritten": lambda whole: b"\x00\xff" + whole[2:],
    "of another type": lambda _whole: b"[5]\n",
    "of another version": lambda whole: whole.replace(b'["set",', b'["put",'),
    "removed": lambda _whole: None,
}


def test_a_damaged_file_is_named_and_nothing_begins_at_1(fresh: Machine) -> None:
    assert fresh.up(US).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    snapshot_is_written(fresh)
    mint(url)
    fresh.kill()
    (snapshot,) = (fresh.folder / "saved").glob("snapshot-*.json")
    (journal,) = (fresh.folder / "saved").glob("journal-*")
    damages = [(snapshot, each) for each in ("cut", "overwritten", "of another type")]
    damages += [(journal, each) for each in DAMAGES if each != "cut"]
    archive = next((fresh.folder / "saved").glob("lambda-blobs/*.zip"))
    damages += [(archive, "cut"), (archive, "removed")]

    for damaged, damage in damages:
        whole = damaged.read_bytes()
        changed = DAMAGES[damage](whole)
        assert changed != whole
        damaged.unlink() if changed is None else damaged.write_bytes(changed)
        for refused in (fresh.up(US), fresh.run("status")):
            assert refused.returncode == 1
            assert re.search(rf"{re.escape(str(damaged))} is (missing|damaged|missing or damaged)", refused.stderr)
            assert "Traceback" not in refused.stderr
            assert re.search(r"Put this file back as .* or start afresh, from 1: ", refused.stderr)
        damaged.write_bytes(whole)

    saved = fresh.folder / "saved"
    saved.rename(fresh.folder / "elsewhere")
    assert "what it had is not saved; start afresh, from 1: " in fresh.up(US).stderr, "also after a failed start"
    (fresh.folder / "elsewhere").rename(saved)
    assert fresh.up(US).returncode == 0
    assert mint(url)[1]["integer"] == 2


def test_a_folder_that_is_removed_is_written_again(fresh: Machine) -> None:
    assert fresh.up(US).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    shutil.rmtree(fresh.folder / "saved")
    statuses = [mint(url)[0] for _ in range(3)]
    assert statuses[-1] == 200, statuses
    last = mint(url)[1]["integer"]

    fresh.kill()
    assert fresh.up(US).returncode == 0
    assert mint(url)[1]["integer"] == last + 1

    fresh.kill()
    shutil.rmtree(fresh.folder / "saved")
    for command in ("up", "status", "preview"):
        lost = fresh.run(command)
        assert (lost.returncode, "what it had is not saved; start afresh, from 1: " in lost.stderr) == (1, True)
    assert fresh.run("down").returncode == 0
    assert fresh.up(US).returncode == 0


@pytest.mark.long
def test_no_integer_twice_however_often_it_is_killed(fresh: Machine) -> None:
    """Clients mint blocks and make counters; the layout changes; the server is killed anywhere."""
    settings = ("openCounters=true", "lease=10")
    assert fresh.up(US, EU, settings=settings).returncode == 0
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
        for round_ in range(6):
            enough = len(seen[""]) + 20
            deadline = time.monotonic() + HANGING
            while len(seen[""]) < enough:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            regions = (US, EU) if round_ % 2 else (EU, US)
            with fresh.start(*fresh.command(*regions, settings=settings)) as deploying:
                time.sleep(0.7 * (round_ % 4))
                fresh.kill()
                deploying.communicate(timeout=HANGING)
            result = fresh.up(settings=settings)
            assert result.returncode == 0, result.stderr
            assert fresh.outputs()["urls"].items() <= {**urls, **fresh.outputs()["urls"]}.items()
        stop.set()
        for each in running:
            each.result(HANGING)

    for counter, integers in seen.items():
        assert len(integers) == len({*integers}), counter
        assert len(integers) > 50
