"""DynamoDB Local is fetched once by Maven; where that fails, its tests are skipped and say so."""

import dataclasses
import platform
from pathlib import Path

import pytest

from tools import programs
from tools.programs import DYNAMODB_LOCAL, JavaProgram

COMMAND = """#!/bin/sh
if [ "${{0##*/}}" = mvn ]; then
  echo "$@" >> "{folder}/mvn.log"
  /bin/mkdir -p "{folder}/fetched"
fi
exit {status}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JavaProgram:
    """It is the only program that is wanted. Java is there, and Maven fetches."""
    for name in ("source", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "pom.xml").write_text("<project/>")
    (tmp_path / "source" / "OnLoopback.java").write_text("class OnLoopback {}")
    for name in ("java", "javac", "mvn"):
        command(tmp_path, name)
    program = dataclasses.replace(DYNAMODB_LOCAL, folder=tmp_path / "source", fetched=tmp_path / "fetched")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(programs, "SERVERS", ())
    monkeypatch.setattr(programs, "PROGRAMS", {"dynamodb-local": program})
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return program


def command(folder: Path, name: str, status: int = 0) -> None:
    (folder / "bin" / name).write_text(COMMAND.format(folder=folder, status=status))
    (folder / "bin" / name).chmod(0o755)


def test_it_is_fetched_once_for_each_version(program: JavaProgram, tmp_path: Path) -> None:
    assert program.missing == "DynamoDB Local is not installed (.venv/bin/python -m tools.programs)"
    programs.main()
    programs.main()
    assert program.missing is None
    (asked,) = (tmp_path / "mvn.log").read_text().splitlines()
    assert asked.endswith(f"dependency:copy-dependencies -DoutputDirectory={program.fetched}")

    for number, file in enumerate(("pom.xml", "OnLoopback.java"), 2):
        (program.folder / file).write_text("another")
        assert program.missing
        programs.main()
        assert program.missing is None
        assert len((tmp_path / "mvn.log").read_text().splitlines()) == number


@pytest.mark.parametrize("name", ["mvn", "javac"])
def test_what_maven_or_the_compiler_refuses_is_reported(
    name: str, program: JavaProgram, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command(tmp_path, name, status=1)
    programs.main()

    assert program.missing
    assert capfd.readouterr().out == f"{program.missing}: the tests that need it are skipped\n"
