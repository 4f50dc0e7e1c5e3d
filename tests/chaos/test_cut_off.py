"""The scenario whose figures docs/layouts.md has: what clients see while tables are lost and a region is cut off."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.chaos.test_chaos import nothing_left
from tests.local.machine import HANGING

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.long]


def test_clients_of_the_other_regions_see_no_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaos.cut_off", "--quiet", "1", "--pace", "0.1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=HANGING,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^\| (\S+)( \(.*?\))? \| ([0-9,]+) \| ([0-9,]+) \| ([0-9.]+) s \|$", done.stdout, re.MULTILINE)
    failures = {region: (note, failed) for region, note, _, failed, _ in rows}
    assert failures["us-east-1"] == failures["us-west-2"] == ("", "0")
    assert failures["eu-west-1"][0] == " (lost its table)"
    assert failures["eu-west-1"][1] != "0"
    assert failures["ap-southeast-2"][0] == " (cut off)"
    assert failures["ap-southeast-2"][1] != "0"
    assert done.stdout.endswith("duplicates: 0\n")
    assert nothing_left(tmp_path)
