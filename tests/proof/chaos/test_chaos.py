"""`make chaos` in short: what it prints, its exit status, what it finds, and that nothing is left of it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from proof.chaos.stack import wait_until
from tests.local.machine import HANGING, processes_of

IN_SHORT = ("restored_table", "lost_layouts", "cut_off")
"""The other events take too long here. `make chaos` has them all."""

FAULTS = ("cuts", "throttles", "delays", "kills")
"""A run of the coordinator that is killed holds up scheduled runs for two minutes."""

pytestmark = [pytest.mark.server, pytest.mark.slow]


def command(folder: Path, *options: str, prepared: str = "") -> "subprocess.Popen[str]":
    """Start it. Every process that it starts has the folder in its environment."""
    program = f"import sys; {prepared}; from proof.chaos.__main__ import main; sys.exit(main(sys.argv[1:]))"
    start = ["-c", program] if prepared else ["-m", "proof.chaos"]
    options = (*options, "--seed", "12", "--pace", "0.1")  # other tests run at the same time
    return subprocess.Popen(
        [sys.executable, *start, *options],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, *options: str, prepared: str = "") -> tuple[int, str, str]:
    with command(folder, *options, prepared=prepared) as process:
        try:
            out, err = process.communicate(timeout=HANGING)
        finally:
            process.kill()  # what it has started ends with it
    return process.returncode, out, err


def assert_nothing_left(folder: Path) -> None:
    assert wait_until(lambda: not processes_of(folder), HANGING)


@pytest.mark.long
def test_nothing_is_minted_twice_whatever_happens(tmp_path: Path) -> None:
    status, out, err = run(tmp_path, "--integers", "3000", "--events", *IN_SHORT, "--faults", *FAULTS)

    assert (status, err) == (0, ""), out + err
    assert out.splitlines()[-1] == "duplicates: 0"
    assert re.search(r"^excepted: [1-9][0-9,]* integers minted in [1-9]", out, re.MULTILINE)
    assert_nothing_left(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert out.startswith("seed 12; 3,000 integers; events: restored_table, lost_layouts, cut_off; faults: cuts, ")
    assert re.search("^faults: .* functions killed", out, re.MULTILINE)


@pytest.mark.long
def test_failures_stay_in_their_region_and_counter(tmp_path: Path) -> None:
    events = ("error_pages", "hot_item")

    status, out, err = run(tmp_path, "--integers", "300", "--events", *events, "--faults", *FAULTS)

    assert status == 0, out + err
    assert re.search(r"^events: 1 error_pages, 1 hot_item$", out, re.MULTILINE)
    assert re.search(r"^faults: [1-9][0-9,]* answered with an error page, ", out, re.MULTILINE)


@pytest.mark.long
def test_clients_of_the_other_regions_see_no_failure(tmp_path: Path) -> None:
    """docs/layouts.md has the figures of this run."""
    events = ("lost_table", "lost_layouts", "cut_off")

    status, out, err = run(tmp_path, "--strict", "--integers", "0", "--faults", "--events", *events)

    assert status == 0, out + err
    rows = re.findall(r"^\| (\S+)( \(.*?\))? \| ([0-9,]+) \| ([0-9,]+) \| [0-9.]+ s \|$", out, re.MULTILINE)
    assert len(rows) == 4
    late = re.findall(r"^(\S+): the machine was so busy that [0-9,]+ mints had given up", out, re.MULTILINE)
    assert all((failures == "0") == (struck == "") for region, struck, _, failures in rows if region not in late)


@pytest.mark.long
def test_duplicates_and_too_few_integers_are_a_failure(tmp_path: Path) -> None:
    """Nothing is excepted, so what a restored table repeats counts; and the run ends after a round of the events."""
    blind = "import proof.chaos.history as history; history.Restoration.has = lambda *_: False"
    hurried = "import proof.chaos.__main__ as chaos; chaos.LONGEST = 0"

    status, out, _ = run(tmp_path, "--events", "restored_table", "--faults", prepared=f"{blind}; {hurried}")

    assert status == 1
    assert re.search(r"^(integers|orders) \d+: \S+ by (function|gateway) at .*; \S+ by ", out, re.MULTILINE)
    assert "fewer than 100,000 integers were minted\n" in out
    assert re.fullmatch(r"duplicates: [1-9][0-9,]*", out.splitlines()[-1])


def test_a_misspelt_event_is_refused(tmp_path: Path) -> None:
    status, _, err = run(tmp_path, "--events", "regions", "lost_tabel")

    assert status == 2
    assert "invalid choice: 'lost_tabel' (choose from " in err


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_after_it_was_ended(tmp_path: Path, sign: signal.Signals) -> None:
    with command(tmp_path, "--events", "regions") as process:
        assert process.stdout
        process.stdout.readline()
        assert "deployed" in process.stdout.readline()
        assert len(processes_of(tmp_path)) > 3

        process.send_signal(sign)
        process.communicate(timeout=HANGING)

    assert process.returncode != 0
    assert_nothing_left(tmp_path)
