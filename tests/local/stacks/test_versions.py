"""Six callers mint while builds come and go: a bad one is refused with its reason, and no caller ever meets it."""

import json
import re
import shutil
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from global_integers_core.names import LIVE_ALIAS
from local.aws_clients import Aws
from local.paths import ROOT
from local.server import aws_server
from tests.local.machine import Clients, Machine, mint

pytestmark = pytest.mark.long

REGIONS = ("us-east-1", "eu-west-1")
"""The first wave, and the second one."""

HANDLER, REGION = "lambda/mint/handler.py", "components/region.py"

WRONG_INTEGERS = """

correct = handler


def handler(event, context):
    import json
    answer = correct(event, context)
    document = json.loads(answer["body"])
    if "integer" in document:
        answer["body"] = json.dumps({**document, "integer": document["integer"] + 1})
    return answer
"""

BAD: dict[str, tuple[str, Callable[[str], str], str]] = {
    "mints wrong integers": (
        HANDLER,
        lambda good: good + WRONG_INTEGERS,
        r"POST /-check: expected 200 and an integer of us-east-1, but got 200 ",
    ),
    "a setting breaks it": (
        REGION,
        lambda good: good.replace("environment=args.environment", 'environment={**args.environment, "LEASE": "a few"}'),
        r"expected 200, but got .*a few",
    ),
}
"""Build → the file that it changes, how, and how the deployment says what is wrong with it."""


WRONG_BY_ALIAS = """

correct = handler


def handler(event, context):
    if context.invoked_function_arn.endswith(":live"):
        return {"statusCode": 200, "headers": {}, "body": '{"status": "ok", "build": "%s"}' % os.environ["BUILD"]}
    return correct(event, context)
"""
"""A build that passes its check by number, and then mints nothing for callers."""

LAG = 8.0
"""Seconds for which AWS may lead callers of a moved alias to the version before."""


def own_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout that tests may change."""
    checkout = tmp_path_factory.mktemp("versions") / "checkout"
    for name in ("components", "global_integers_core", "lambda", "local"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("Pulumi*.yaml"), ROOT / "__main__.py", ROOT / "pyproject.toml"):
        shutil.copy(path, checkout)
    return checkout


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine], tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    """A machine that deploys a checkout of its own, with two regions."""
    machine = machines()
    machine.checkout = own_checkout(tmp_path_factory)
    assert up(machine).startswith("dev: ")
    yield machine
    machine.end()


@pytest.fixture
def callers(machine: Machine) -> Generator[Clients]:
    """Six callers. None may get an error, whatever is deployed meanwhile.

    On a small or busy machine, a call may find no place (429) or a table that answers late (503). No bad build does.
    """
    clients = Clients(machine.outputs()["urls"], each=3)
    try:
        clients.wait_for_more(REGIONS)
        yield clients
        clients.wait_for_more(REGIONS, 10)
    finally:
        integers = clients.end()
    assert clients.failed == {}
    assert len(set(integers)) == len(integers)


def up(machine: Machine, *more: str, regions: Sequence[str] = REGIONS) -> str:
    """Deploy, and return the line that counts what was done."""
    done = machine.run(*machine.command(*regions, settings=("lease=1",)), *more)
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("dev: "))


def next_build(machine: Machine) -> None:
    """Change the code, without changing what it does."""
    handler = machine.checkout / HANDLER
    handler.write_text(handler.read_text() + "# Another build.\n")


def versions(machine: Machine, regions: Sequence[str] = REGIONS) -> list[int]:
    """Return the versions that aliases lead to, in the order of the regions."""
    aws = Aws(machine.endpoint)
    aliases = (
        aws.client("lambda", region).get_alias(FunctionName="global-integers-dev-mint", Name=LIVE_ALIAS)
        for region in regions
    )
    return [int(alias["FunctionVersion"]) for alias in aliases]


@pytest.mark.parametrize("build", BAD)
def test_no_caller_meets_a_bad_build(machine: Machine, callers: Clients, build: str) -> None:
    name, worsened, reason = BAD[build]
    before, path = versions(machine), machine.checkout / name
    good = path.read_text()
    assert worsened(good) != good
    path.write_text(worsened(good))
    try:
        failed = machine.run(*machine.command(*REGIONS, settings=("lease=1",)))
    finally:
        path.write_text(good)

    assert failed.returncode != 0
    assert re.search(reason, failed.stderr), failed.stderr
    assert re.search(r"us-east-1: version \d+ of the minting function \(.*\) doesn't work\.", failed.stderr)
    assert "No caller reaches it. Aliases that have moved to this build: none; that haven't: " in failed.stderr
    assert "docs/operations.md#a-build-that-fails" in failed.stderr
    assert versions(machine) == before


def test_the_way_back_is_one_event(machine: Machine, callers: Clients) -> None:
    next_build(machine)
    up(machine)
    before = versions(machine)
    next_build(machine)
    assert up(machine).endswith("2 updated, 4 replaced"), "the functions, their checks and their releases"
    newest = versions(machine)

    reached = {region: str(version) for region, version in zip(REGIONS, before, strict=True)}
    back = machine.run("send", '{"back": true}')
    assert json.loads(back.stdout) == {"back": reached, "stay": {}}, back.stderr
    assert versions(machine) == before
    again = json.loads(machine.run("send", '{"back": true}').stdout)
    assert (again["back"], again["stay"]) == ({}, reached)
    assert "they have gone back from the newest build already" in again["reason"]

    up(machine)
    up(machine, "-c", "reservedConcurrency=50")
    assert versions(machine) == before, "no other build is deployed"
    next_build(machine)
    up(machine)
    assert versions(machine) == [version + 1 for version in newest]


@contextmanager
def changing_policies(machine: Machine) -> Generator[None]:
    """Change the policies of all aliases `live`, and with them their revisions, several times a second."""
    clients: list[Any] = [Aws(machine.endpoint).client("lambda", region) for region in REGIONS]
    alias, ended = {"FunctionName": "global-integers-dev-mint", "Qualifier": LIVE_ALIAS, "StatementId": "test"}, Event()

    def change() -> None:
        while not ended.wait(0.1):
            for client in clients:
                client.add_permission(**alias, Action="lambda:InvokeFunction", Principal="s3.amazonaws.com")
                client.remove_permission(**alias)

    with ThreadPoolExecutor(1) as pool:
        changes = pool.submit(change)
        try:
            yield
        finally:
            ended.set()
        changes.result()


def test_a_domain_is_added_by_one_up(machine: Machine, callers: Clients) -> None:
    """Its permissions change the aliases' revisions while the new versions are checked and released."""
    before = versions(machine)
    with changing_policies(machine):
        up(machine, "-c", "domain=integers.example.com", "-c", "hostedZone=example.com")
    assert "domainUrl" in machine.outputs()
    assert versions(machine) == [version + 1 for version in before]
    callers.wait_for_more(REGIONS, 10)
    up(machine)


def test_a_deleted_alias_comes_back_with_another_url(machine: Machine) -> None:
    """AWS deletes its URL and its policy with it."""
    before, reached = machine.outputs()["urls"], versions(machine)
    functions = Aws(machine.endpoint).client("lambda", REGIONS[1])
    functions.delete_alias(FunctionName="global-integers-dev-mint", Name=LIVE_ALIAS)
    assert mint(before[REGIONS[1]])[0] == 403

    up(machine)
    after = machine.outputs()["urls"]
    assert [after[region] == before[region] for region in REGIONS] == [True, False]
    assert mint(after[REGIONS[1]])[0] == 200
    assert versions(machine) == reached


def lag(machine: Machine, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a moved alias lead to the version before, and a new one to none, for so many seconds."""
    machine.kill(signal.SIGTERM)
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(machine.folder))
    aws_server.start(machine.wanted_port, {"ALIAS_LAG": str(seconds)})


def test_an_alias_that_lags_is_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is the version before taken for a bad build, nor a bad build for the version before."""
    before = versions(machine)
    lag(machine, LAG, monkeypatch)
    try:
        next_build(machine)
        coordinator = machine.checkout / "lambda/coordinate/handler.py"
        coordinator.write_text(coordinator.read_text() + "# Another build.\n")
        up(machine, regions=(*REGIONS, "eu-west-2"))
        good = versions(machine, (*REGIONS, "eu-west-2"))
        assert good == [*[version + 1 for version in before], 1]

        handler = machine.checkout / HANDLER
        right = handler.read_text()
        handler.write_text(right + WRONG_BY_ALIAS)
        failed = machine.run(*machine.command(*REGIONS, "eu-west-2", settings=("lease=1",)))
        handler.write_text(right)
        assert failed.returncode != 0
        assert "doesn't work by the region's alias, by which callers reach it now. POST /-check: " in failed.stderr
        back = json.loads(machine.run("send", '{"back": true}').stdout)["back"]
        assert back == {REGIONS[0]: str(good[0])}
    finally:
        lag(machine, 0, monkeypatch)
    up(machine)
