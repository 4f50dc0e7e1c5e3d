"""The blocks of docs/recipes.md, and a deployment to run them against."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest
from machine import ROOT, Machine

from local.server import any_free_port

REGION = "eu-west-1"
COUNTERS = 'counters=["integers", "orders", "invoices"]'
PAGE = (ROOT / "docs" / "recipes.md").read_text()
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("recipes"), any_free_port())
    result = machine.up(settings=(COUNTERS,))
    assert result.returncode == 0, result.stderr
    yield machine
    machine.run("down")


@pytest.fixture(scope="session")
def url(machine: Machine) -> str:
    return machine.outputs()["urls"][REGION]


@pytest.fixture
def run(machine: Machine, url: str, tmp_path: Path) -> Run:
    """`run("sh", code)`: as a user would, with the local server for AWS."""
    aws = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{machine.port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
    }
    with_it = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}

    def run(language: str, code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*with_it[language], code],
            env={**os.environ, **aws, "URL": url, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def recipe() -> Callable[[str], Sequence[tuple[str, str]]]:
    """`recipe(title)`: the language and the code of each block in that section."""

    def of(title: str) -> Sequence[tuple[str, str]]:
        section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
        blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
        assert blocks, title
        return blocks

    return of
