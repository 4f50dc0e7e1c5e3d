"""`python -m proof.simulation`, in short."""

import re
import subprocess
import sys

import pytest

from local.paths import ROOT


@pytest.mark.long
def test_a_search_prints_what_it_ran() -> None:
    command = [sys.executable, "-m", "proof.simulation", "--schedules", "60", "--first", "7"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.startswith("100 schedules from seed 7;")
    assert re.search(r"100 schedules, [\d,]+ integers, no duplicate, all reconciled\n$", ran.stdout)
