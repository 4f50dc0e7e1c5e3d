"""What the README says about a lost table, run as it stands there."""

import json
import re
import subprocess
import sys

from local.paths import ROOT
from tests.local.machine import Machine, mint


def test_a_lost_table_heals_as_the_readme_says(fresh: Machine) -> None:
    _, _, section = (ROOT / "README.md").read_text().partition("### Break it\n")
    (block,) = re.findall(r"```sh\n(.*?)```", section.partition("\n##")[0], re.DOTALL)
    *_, promised = re.findall(r"# (\{.*\})\n", block)
    assert fresh.up().returncode == 0
    urls = fresh.outputs()["urls"]
    before = [mint(url)[1]["integer"] for url in urls.values()]

    commands = block.replace("127.0.0.1:4566", f"127.0.0.1:{fresh.port}").replace(".venv/bin/python", sys.executable)
    commands = commands.replace("make up", f"{sys.executable} -m local up >&2").replace("curl ", "curl -s ")
    done = subprocess.run(["sh", "-ec", commands], cwd=ROOT, env=fresh.environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(promised)
    assert sorted(before) == [1, 2, 3]
    assert min(mint(url)[1]["integer"] for url in urls.values()) > 300_000_000
