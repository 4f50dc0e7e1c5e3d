"""A deployment to run the recipes against, as a user would."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from local.paths import ROOT
from tests.local.machine import Machine
from tests.recipes.recipe_page import HANG, SET_UP, Client, Result, Run, Start, Table, blocks

REGION = "eu-west-1"
INTERPRETERS = {
    "sh": ["sh", "-euc"],
    "bash": ["bash", "-euo", "pipefail", "-c"],
    "python": [sys.executable, "-c"],
}


@pytest.fixture(scope="session")
def nothing_runs(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    """A machine on which nothing runs yet."""
    machine = Machine(tmp_path_factory.mktemp("recipes"))
    yield machine
    machine.end()


def as_a_new_user(machine: Machine, script: str) -> Result:
    """Run it in bash, without AWS in the environment."""
    environment = {name: value for name, value in machine.environment.items() if not name.startswith("AWS_")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(".venv/bin/python", sys.executable)],
        env={**environment, "NO_PROXY": "127.0.0.1", "HOME": str(machine.folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG,
    )


@pytest.fixture(scope="session")
def readme(nothing_runs: Machine) -> Result:
    """What the README's lines print that deploy without make, and mint. They get a port."""
    _, deploy, _ = blocks("Without make", "README.md")[0][1].splitlines()
    _, (_, program), (_, use) = blocks("Use it", "README.md")
    deploy = deploy.replace("local up", f"local up --port {nothing_runs.wanted_port}")
    urls = 'export GLOBAL_INTEGERS_URLS="$(.venv/bin/python -m local outputs urls --json)" PYTHONPATH=client/src'
    shown = re.sub(r"^(integers\.next.*\))  #", r"print(\1)  #", program, flags=re.MULTILINE)
    shown = shown.replace("(lease", '(prefer="us-east-1", lease')  # which is the nearest differs from run to run
    python = f".venv/bin/python - <<'END'\n{shown}END"
    script = "\n".join([deploy, urls, python, "unset PYTHONPATH", use.replace("curl", "curl -sS")])
    result = as_a_new_user(nothing_runs, script)
    assert result.returncode == 0, result.stderr
    return result


@pytest.fixture(scope="session")
def machine(nothing_runs: Machine, readme: Result) -> Machine:
    """With the counters of the recipes, which the page's set-up begins with."""
    result = as_a_new_user(nothing_runs, SET_UP.splitlines()[0])
    assert result.returncode == 0, result.stderr
    return nothing_runs


@pytest.fixture(scope="session")
def url(machine: Machine) -> str:
    return machine.outputs()["urls"][REGION]


@pytest.fixture(scope="session")
def aws(machine: Machine) -> Client:
    """`aws(service)`: a client of the local server."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    made = cast("Callable[..., Any]", session.client)
    return lambda service: made(service, endpoint_url=f"http://127.0.0.1:{machine.port}")


@pytest.fixture
def start(machine: Machine, url: str, tmp_path: Path) -> Start:
    """`start("sh", code)`: as a user would, with the local server for AWS."""
    aws = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{machine.port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "URL": url,
        "NO_PROXY": "127.0.0.1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def start(language: str, code: str, cwd: Path = tmp_path, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*INTERPRETERS[language], code.replace(".venv/bin/python", sys.executable)],
            env={**machine.environment, **aws, **environment},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def run(start: Start) -> Run:
    """`run("sh", code)`: to its end."""

    def run(language: str, code: str, **environment: Any) -> Result:
        with start(language, code, **environment) as process:
            out, err = process.communicate(timeout=HANG)
        return Result(code, process.returncode, out, err)

    return run


@pytest.fixture
def table(aws: Client) -> Generator[Table]:
    """`table(name)` makes one with the key `id`, a number; what it returns reads its items."""
    dynamodb = aws("dynamodb")
    made: list[str] = []

    def make(name: str) -> Callable[[], list[dict[str, Any]]]:
        dynamodb.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        )
        made.append(name)
        return lambda: dynamodb.scan(TableName=name)["Items"]

    yield make
    for name in made:
        dynamodb.delete_table(TableName=name)
