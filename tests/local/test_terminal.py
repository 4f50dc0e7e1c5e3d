"""What is shown on a terminal while a command works, and what pip's output becomes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from local.environment import network_variables
from local.paths import ROOT
from tools.installing import install

SHOWING = "from local.terminal import say, show; show('1 of 2'); show('2 of 2'); say('done')"


def test_a_terminal_shows_how_far_it_is_on_one_line() -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", SHOWING], cwd=ROOT, stdout=theirs, check=True)
    os.close(theirs)

    assert os.read(ours, 1000) == b"\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[Kdone\r\n"
    os.close(ours)
    assert subprocess.run([sys.executable, "-c", SHOWING], cwd=ROOT, capture_output=True).stdout == b"done\n"


def pip(lines: str, status: int = 0) -> list[str]:
    """Return a command that prints these lines as pip does."""
    return [sys.executable, "-c", f"import sys; print({lines!r}); sys.exit({status})"]


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text("one==1.0 \\\n    --hash=sha256:00\ntwo==2.0\n# three\n")
    return file


def test_pips_lines_are_in_a_file(requirements: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = requirements.with_name("install.log")

    install(requirements, log, pip("Collecting one==1.0\nInstalling collected packages: one, two"))

    assert log.read_text() == "Collecting one==1.0\nInstalling collected packages: one, two\n"
    assert capsys.readouterr().out == ""


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable tells pip how to reach the index."""
    for name in network_variables(os.environ):
        monkeypatch.delenv(name)


@pytest.mark.slow
@pytest.mark.usefixtures("no_variables")
def test_an_index_that_cant_be_reached_is_one_sentence(requirements: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = requirements.with_name("install.log")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")

    with pytest.raises(SystemExit) as ended:
        install(requirements, log)

    assert str(ended.value) == (
        f"error: {requirements} can't be installed: the package index can't be reached. Check the network, or the "
        "proxy that pip uses, and try again. pip follows these variables of the environment; unset those that are "
        f"wrong: PIP_INDEX_URL. pip's output is in {log}"
    )
    assert "127.0.0.1" in log.read_text()


def test_a_log_that_cant_be_written_is_named(requirements: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: /dev/full can't be written: .*\. Free space there"):
        install(requirements, Path("/dev/full"), pip("Collecting one==1.0"))


@pytest.mark.usefixtures("no_variables")
def test_another_error_is_pips_own(requirements: Path) -> None:
    log = requirements.with_name("install.log")

    with pytest.raises(SystemExit, match=r"can't be installed: ERROR: no matching one\. pip's output is in"):
        install(requirements, log, pip("Collecting one\nERROR: no matching one", status=1))
