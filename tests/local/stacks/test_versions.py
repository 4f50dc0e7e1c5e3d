"""Six callers mint while builds come and go: a bad one is refused with its reason, and no caller ever meets it."""

import json
import re
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from global_integers_core.names import DEPLOYMENTS_ALIAS, LIVE_ALIAS
from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.machine import Clients, Machine, mint

pytestmark = pytest.mark.long

HOME, OTHER = REGIONS = ("us-east-1", "eu-west-1")
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


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine], tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    """A machine that deploys a checkout of its own, with two regions."""
    machine = machines()
    machine.checkout = tmp_path_factory.mktemp("versions") / "checkout"
    for name in ("components", "global_integers_core", "lambda", "local"):
        shutil.copytree(ROOT / name, machine.checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("Pulumi*.yaml"), ROOT / "__main__.py", ROOT / "pyproject.toml"):
        shutil.copy(path, machine.checkout)
    assert up(machine).startswith("dev: ")
    yield machine
    machine.end()


@pytest.fixture(scope="module")
def everything() -> list[int]:
    """All integers that any caller of this module was given."""
    return []


@contextmanager
def callers_of(machine: Machine, regions: Sequence[str], everything: list[int]) -> Generator[Clients]:
    """Run three callers of each region. None may get an error, whatever is deployed meanwhile."""
    urls = machine.outputs()["urls"]
    # A small machine may have no place for all of them at the same time; that is no error of the region.
    clients = Clients({region: urls[region] for region in regions}, each=3, repeated=(429,))
    try:
        clients.wait_for_more(regions)
        yield clients
        clients.wait_for_more(regions)
    finally:
        everything += clients.end()
    assert clients.failed == {}
    assert len(set(everything)) == len(everything)


@pytest.fixture
def callers(machine: Machine, everything: list[int]) -> Generator[Clients]:
    """Six callers."""
    with callers_of(machine, REGIONS, everything) as clients:
        yield clients


def up(machine: Machine, *more: str) -> str:
    """Deploy, and return the line that counts what was done."""
    done = machine.run(*machine.command(*REGIONS, settings=("lease=1",)), *more)
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("dev: "))


def next_build(machine: Machine) -> None:
    """Change the code, without changing what it does."""
    handler = machine.checkout / HANDLER
    handler.write_text(handler.read_text() + "# Another build.\n")


def versions(machine: Machine) -> list[int]:
    """Return the versions that callers reach, in the order of the regions."""
    aws = Aws(machine.endpoint)
    aliases = (
        aws.client("lambda", region).get_alias(FunctionName="global-integers-dev-mint", Name=LIVE_ALIAS)
        for region in REGIONS
    )
    return [int(alias["FunctionVersion"]) for alias in aliases]


def sent(machine: Machine, event: dict[str, Any]) -> dict[str, Any]:
    """Return what the coordinator answers an operator."""
    client = Aws(machine.endpoint).client("lambda", HOME)
    coordinator = f"{machine.outputs()['coordinator']}:{DEPLOYMENTS_ALIAS}"
    return json.load(client.invoke(FunctionName=coordinator, Payload=json.dumps(event))["Payload"])


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
    callers.wait_for_more(REGIONS, 10)


def test_the_way_back_is_one_event(machine: Machine, callers: Clients) -> None:
    next_build(machine)
    up(machine)
    before = versions(machine)
    next_build(machine)
    assert up(machine).endswith("2 updated, 4 replaced"), "the functions, their checks and their releases"
    newest = versions(machine)

    reached = {region: str(version) for region, version in zip(REGIONS, before, strict=True)}
    assert sent(machine, {"back": True}) == {"back": reached, "stay": {}}
    assert versions(machine) == before
    again = sent(machine, {"back": True})
    assert (again["back"], again["stay"]) == ({}, reached)
    assert "they have gone back from the newest build already" in again["reason"]
    callers.wait_for_more(REGIONS, 10)

    up(machine)
    up(machine, "-c", "reservedConcurrency=50")
    assert versions(machine) == before, "no other build is deployed"
    next_build(machine)
    up(machine)
    assert versions(machine) == [version + 1 for version in newest]
    callers.wait_for_more(REGIONS, 10)


def test_a_paused_region_is_checked_before_it_comes_back(machine: Machine, everything: list[int]) -> None:
    """Nothing can be checked there meanwhile. It comes back with the version that it had."""
    running, paused = REGIONS
    urls, handler = machine.outputs()["urls"], machine.checkout / HANDLER
    with callers_of(machine, [running], everything) as callers:
        before, good = versions(machine), handler.read_text()
        pausing = ("-c", f'paused=["{paused}"]')
        up(machine, *pausing)
        assert mint(urls[paused])[0] == 429

        handler.write_text(f"{good}\nif os.environ['AWS_REGION'] == '{paused}':\n    raise RuntimeError('bad here')\n")
        up(machine, *pausing)
        assert versions(machine) == [before[0] + 1, before[1]]
        failed = machine.run(*machine.command(*REGIONS, settings=("lease=1",)))
        handler.write_text(good)

        assert failed.returncode != 0
        assert re.search(rf"{paused}: version \d+ of the minting function .* doesn't work\..*bad here", failed.stderr)
        assert f"moved to this build: {running}; that haven't: {paused}." in failed.stderr
        status, document = mint(urls[paused])
        assert (status, versions(machine)[1]) == (200, before[1])
        everything.append(document["integer"])

        up(machine)
        assert versions(machine)[1] > before[1]
        callers.wait_for_more([running], 10)
