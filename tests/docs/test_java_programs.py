"""DynamoDB Local is fetched once by Maven; where that fails, its tests are skipped and say so."""

import dataclasses
import platform
from pathlib import Path

import pytest

from tools import programs
from tools.programs import DYNAMODB_LOCAL, JavaProgram

FETCHES = """#!/bin/sh
echo "$@" >> "{log}"
/bin/mkdir -p "{fetched}"
echo > "{fetched}/some.jar"
exit {code}
"""
COMPILES = """#!/bin/sh
exit {code}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JavaProgram:
    """It is the only program that is wanted. Java is there, and Maven fetches."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "pom.xml").write_text("<project/>")
    (folder / "OnLoopback.java").write_text("class OnLoopback {}")
    program = dataclasses.replace(DYNAMODB_LOCAL, folder=folder, fetched=tmp_path / "fetched")
    (tmp_path / "bin").mkdir()
    command(program, "java", COMPILES)
    command(program, "javac", COMPILES)
    command(program, "mvn", FETCHES)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(programs, "SERVERS", ())
    monkeypatch.setattr(programs, "PROGRAMS", {"dynamodb-local": program})
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return program


def command(program: JavaProgram, name: str, text: str, code: int = 0) -> None:
    path = program.fetched.parent / "bin" / name
    path.write_text(text.format(log=log_of(program), fetched=program.fetched, code=code))
    path.chmod(0o755)


def log_of(program: JavaProgram) -> Path:
    """Return the file with what Maven was asked for."""
    return program.fetched.parent / "mvn.log"


def test_it_is_fetched_once(program: JavaProgram, capfd: pytest.CaptureFixture[str]) -> None:
    assert program.missing == "DynamoDB Local is not installed (.venv/bin/python -m tools.programs)"

    programs.main()
    programs.main()

    assert program.missing is None
    (asked,) = log_of(program).read_text().splitlines()
    assert asked.endswith(f"dependency:copy-dependencies -DoutputDirectory={program.fetched}")
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("file", ["pom.xml", "OnLoopback.java"])
def test_another_version_or_class_is_fetched_again(file: str, program: JavaProgram) -> None:
    programs.main()
    (program.folder / file).write_text("another")
    assert program.missing

    programs.main()

    assert program.missing is None
    assert len(log_of(program).read_text().splitlines()) == 2


@pytest.mark.parametrize(("name", "text"), [("mvn", FETCHES), ("javac", COMPILES)])
def test_what_maven_or_the_compiler_refuses_is_reported(
    name: str, text: str, program: JavaProgram, capfd: pytest.CaptureFixture[str]
) -> None:
    command(program, name, text, code=1)

    programs.main()

    assert program.missing
    assert capfd.readouterr().out == f"{program.missing}: the tests that need it are skipped\n"


def test_without_java_it_says_what_to_install(program: JavaProgram, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("java", "javac", "mvn"):
        (program.fetched.parent / "bin" / name).unlink()

    programs.main()

    refused, skipped = capfd.readouterr().out.splitlines()
    assert refused == "not installed: DynamoDB Local: there is no apt-get here"
    packages = "apt-get install default-jdk-headless maven"
    assert skipped.startswith(f"DynamoDB Local is not installed (Debian and Ubuntu: {packages}): ")


def test_nothing_is_installed_for_another_processor(
    program: JavaProgram, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")

    programs.main()

    assert not log_of(program).exists()
    assert program.missing == "DynamoDB Local has no SQLite for aarch64"
    assert capfd.readouterr().out == f"{program.missing}: the tests that need it are skipped\n"
