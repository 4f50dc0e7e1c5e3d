"""The present code is deployed on what the baseline has left, while callers call: none of them loses anything.

The baseline (`baseline.txt`) is what users have. Its own files deploy it, and its own `python -m local` starts the
servers and keeps the state. Where git can't give its files, as in a copy without history, the tests are skipped, also
with `CI` set.
CONTRIBUTING.md, "What a change must keep", says what to do if one fails.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.machine import Machine
from tests.upgrade.callers import History, calling

pytestmark = pytest.mark.long

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")

COUNTERS = ("integers", "orders")

SETTINGS = (
    f"counters={json.dumps(COUNTERS)}",
    "openCounters=true",  # `PUT` responds
    "lease=1",  # with leases of functions, integers grow only within each function
    "apiGateway=true",
    "domain=integers.example.com",
    "hostedZone=example.com",
)

GROWS = ("limit", "position", "ceiling", "version", "build")
"""What a deployment may change in outputs and status."""

RULES = 'CONTRIBUTING.md, "What a change must keep", says what to do'


NAME = Path(__file__).with_name("baseline.txt").read_text().strip()
"""The baseline: the commit or release whose users the present code must not disappoint."""


def test_the_baseline_is_a_commit_or_a_release() -> None:
    """A name that may move would be another one tomorrow."""
    assert re.fullmatch(r"[0-9a-f]{40}|v\d+\.\d+\.\d+", NAME)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the baseline's files, which git has. The clone stays as it is."""
    folder = tmp_path_factory.mktemp("upgrade")
    # A container may run this in a folder of another user, whom git doesn't trust otherwise.
    git = ["git", "-c", "safe.directory=*", "archive", "--format=zip", f"--output={folder}/baseline.zip", NAME]
    try:
        subprocess.run(git, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        wanted = f"tag {NAME}" if NAME.startswith("v") else NAME
        pytest.skip(f"git can't give the baseline's files: {error}. Fetch it: git fetch origin {wanted}")
    shutil.unpack_archive(folder / "baseline.zip", folder / "baseline")
    return folder / "baseline"


def deploy(machine: Machine, checkout: Path, *more: str) -> None:
    machine.checkout = checkout
    done = machine.up(*REGIONS, settings=(*SETTINGS, *more))
    which = (
        f"the present code can't be deployed on what the baseline has left ({RULES})"
        if checkout == ROOT
        else "the baseline can't be deployed; the versions of what it depends on are the present code's"
    )
    assert done.returncode == 0, f"{which}:\n{done.stdout}{done.stderr}"


def deployed(machine: Machine) -> dict[str, Any]:
    """Return what callers and operators rely on, by name: ids of resources, URLs and outputs."""
    aws = Aws(machine.endpoint)
    found: dict[str, Any] = {"outputs": machine.outputs()}
    roles: list[Any] = aws.client("iam", REGIONS[0]).list_roles(MaxItems=1000)["Roles"]
    found["roles"] = {role["RoleName"]: role["RoleId"] for role in roles}
    for region in REGIONS:
        dynamodb: Any = aws.client("dynamodb", region)
        functions: Any = aws.client("lambda", region)
        for table in dynamodb.list_tables()["TableNames"]:
            described = dynamodb.describe_table(TableName=table)["Table"]
            found[f"table {table} of {region}"] = {"id": described["TableId"], "keys": described["KeySchema"]}
        for function in functions.list_functions()["Functions"]:
            name = function["FunctionName"]
            for alias in functions.list_aliases(FunctionName=name)["Aliases"]:
                found[f"alias {alias['Name']} of {name} of {region}"] = alias["AliasArn"]
            urls = functions.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"]
            found[f"URLs of {name} of {region}"] = {url["FunctionArn"]: url["FunctionUrl"] for url in urls}
    return found


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Return what isn't there any more or has changed, with its path. What is new isn't lost."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        then, now = cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", after)
        return [
            line
            for name, value in then.items()
            if name not in GROWS
            for line in (
                lost(value, now[name], f"{path}{name}: ") if name in now else [f"{path}{name}: {value!r} is gone"]
            )
        ]
    return [] if before == after else [f"{path}was {before!r}, is {after!r}"]


def assert_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    found = lost(before, after)
    if found:
        pytest.fail(f"the upgrade has changed what must stay ({RULES}):\n" + "\n".join(found))


def assert_served(history: History) -> None:
    """Assert that every caller got what it may expect, and no integer was minted twice."""
    if history.failed:
        pytest.fail(f"callers got what they can't use ({RULES}):\n" + "\n".join(history.failed), pytrace=False)
    for counter in COUNTERS:
        minted = history.minted[counter]
        twice = [integer for integer, count in Counter(minted).items() if count > 1]
        assert not twice, f"minted twice of {counter}: {twice[:20]}"
        # A layout that changed, or a table that counts as lost, begins above all windows.
        assert max(minted) < 100_000_000, f"{counter} has jumped to {max(minted)}: its tables counted as lost"


@pytest.fixture
def machine(baseline: Path, machines: Callable[[], Machine]) -> Generator[Machine]:
    """A machine on which the baseline is deployed."""
    machine = machines()
    deploy(machine, baseline, "memorySize=256")
    yield machine
    machine.checkout = ROOT
    machine.end()


@pytest.fixture
def clients(baseline: Path) -> dict[str, Path]:
    """The clients that call, by what failures call them."""
    return {"the present client": ROOT / "client" / "src", "the baseline's client": baseline / "client" / "src"}


def test_no_caller_notices_an_upgrade(machine: Machine, clients: dict[str, Path], tmp_path: Path) -> None:
    """Another size of memory makes new versions, also where no function's files have changed."""
    before, history = deployed(machine), History()
    with calling(history, before["outputs"], tmp_path, clients):
        deploy(machine, ROOT, "memorySize=512")
        assert_kept(before, deployed(machine))
    assert_served(history)


def test_an_upgrade_reads_what_the_servers_have_saved(
    machine: Machine, clients: dict[str, Path], tmp_path: Path
) -> None:
    before, history = deployed(machine), History()
    with calling(history, before["outputs"], tmp_path, clients):
        pass
    for name in ("gateway", "domain", "server"):  # as a reboot ends them
        machine.kill(name=name)
    deploy(machine, ROOT, "memorySize=512")
    assert_kept(before, deployed(machine))
    with calling(history, before["outputs"], tmp_path, clients):
        pass
    assert_served(history)


def test_no_setting_is_gone(baseline: Path) -> None:
    before, after = (
        yaml.safe_load((checkout / "Pulumi.yaml").read_text())["config"].keys() for checkout in (baseline, ROOT)
    )
    assert not before - after, f"settings are gone ({RULES})"


RENAMED = {"global_integers.ClientSettings.key_failover"}
"""What has gone before the first release: it is an argument of each call now."""


def test_no_public_name_of_the_client_is_gone(baseline: Path) -> None:
    def names(checkout: Path) -> set[str]:
        command = [sys.executable, str(Path(__file__).with_name("public_names.py"))]
        environment = {"PYTHONPATH": str(checkout / "client" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {*done.stdout.splitlines()}

    gone = sorted(names(baseline) - names(ROOT) - RENAMED)
    assert not gone, f"public names of the client are gone ({RULES}):\n" + "\n".join(gone)
