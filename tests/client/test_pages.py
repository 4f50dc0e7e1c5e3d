"""The blocks of docs/client.md and of the package's README run as they are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.local.machine import Machine

pytestmark = pytest.mark.server

PAGES = (ROOT / "docs" / "client.md", ROOT / "client" / "README.md", ROOT / "README.md")
BLOCKS = [
    pytest.param(language, block, id=f"{page.name} {number}")
    for page in PAGES
    for number, (language, block) in enumerate(re.findall(r"```(python|sh)\n(.*?)```", page.read_text(), re.DOTALL))
    if "pip install" not in block and (page.parent != ROOT or language == "python")
    # test_installed.py installs; tests/docs and tests/local have the other commands of the README
]


@pytest.fixture(scope="module")
def environment(stack: Machine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("caller")
    outputs = folder / "outputs.json"
    outputs.write_text(stack.run("outputs", "--json").stdout)
    command = folder / "global-integers"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m global_integers "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ,
        "GLOBAL_INTEGERS_URLS": str(outputs),
        "PYTHONPATH": str(ROOT / "client" / "src"),
        "PATH": f"{folder}:{os.environ['PATH']}",
    }


@pytest.mark.parametrize(("language", "block"), BLOCKS)
def test_the_block_runs(language: str, block: str, environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", block] if language == "python" else ["sh", "-euc", block]

    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    if "print" in block or language == "sh":
        assert re.search(r"[1-9]", done.stdout), done.stdout
