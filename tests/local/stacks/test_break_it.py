"""What the README says about a lost table, and what the runbook says about one machine, run as it stands there."""

import json
import re
import shlex
import subprocess
import sys

import pytest

from local.paths import ROOT
from tests.local.machine import Machine, mint


def test_a_lost_table_heals_as_the_readme_says(fresh: Machine) -> None:
    _, _, section = (ROOT / "README.md").read_text().partition("## Break it\n")
    (block,) = re.findall(r"```sh\n(.*?)```", section.partition("\n##")[0], re.DOTALL)
    *_, promised = re.findall(r"# (\{.*\})\n", block)
    first = fresh.up()
    assert first.returncode == 0
    (announced,) = re.findall(r"^creating (\d+) resources$", first.stdout, re.MULTILINE)
    assert f"creates {announced} resources" in (ROOT / "README.md").read_text()
    assert f"dev: {announced} created" in first.stdout
    urls = fresh.outputs()["urls"]
    before = [mint(url)[1]["integer"] for url in urls.values()]

    commands = block.replace(".venv/bin/python", sys.executable)
    commands = re.sub("make lose REGION=(.*)", rf"{sys.executable} -m local lose \1 >&2", commands)
    commands = commands.replace("make up", f"{sys.executable} -m local up >&2").replace("curl ", "curl -s ")
    done = subprocess.run(["sh", "-ec", commands], cwd=ROOT, env=fresh.environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(promised)
    assert sorted(before) == [1, 2, 3]
    assert min(mint(url)[1]["integer"] for url in urls.values()) > 3_000
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 2


@pytest.mark.long
def test_the_runbooks_lines_run_on_one_machine(deployed: Machine) -> None:
    _, _, section = (ROOT / "docs" / "runbook.md").read_text().partition("## On one machine\n")
    (shell,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    (lines,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)

    up, send = [shlex.split(command)[3:] for command in shell.splitlines()]
    assert deployed.run(*up).returncode == 0
    sent = deployed.run(*send)
    while "skipped" in sent.stdout:  # a scheduled run is at work
        sent = deployed.run(*send)
    command = [sys.executable, "-c", lines]
    done = subprocess.run(command, cwd=ROOT, env=deployed.environment, capture_output=True, text=True)

    assert (sent.returncode, done.returncode) == (0, 0), sent.stderr + done.stderr
    assert list(json.loads(sent.stdout)["counters"]) == ["integers", "orders"]
    assert "'stride': {'N': '3'}" in done.stdout
    assert deployed.up().returncode == 0
