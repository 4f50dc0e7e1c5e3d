"""Files of the state folder that somebody has damaged: each command names the file and what to do, or does without."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local.server import aws_server
from tests.local.machine import Machine, up

COMMANDS = (
    ("up", "--port", "0", "-c", 'regions=["us-east-1"]'),
    ("preview", "-c", 'regions=["us-east-1"]'),
    ("status",),
    ("outputs",),
    ("demo",),
    ("logs",),
    ("lose",),
    ("send", '{"schedule": true}'),
    ("down",),
)


def shape(whole: bytes, **changes: Any) -> bytes:
    """Return a JSON object with other values. `...` takes one away."""
    changed = {**json.loads(whole), **changes}
    return json.dumps({key: value for key, value in changed.items() if value is not ...}).encode()


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "half": lambda whole: whole[: len(whole) // 2],
    "nothing in it": lambda _whole: b"{}",
    "not UTF-8": lambda whole: b"\xff\xfe" + whole,
    "deep": lambda _whole: b"[" * 100_000,
    "a folder": lambda _whole: None,
}

OF_RECORD: dict[str, Any] = {"pid": [..., None, "7", -1, 0, 1, 2**40, True], "port": [..., None, 70_000, -1, 1.5]}
OF_RECORD["version"] = [..., None, "1", []]


def written(path: Path, text: bytes | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        path.mkdir()
    else:
        path.write_bytes(text)


def refused(machine: Machine, command: tuple[str, ...], file: Path, damage: object) -> None:
    """Check that a command names a damaged file and what to do."""
    done = machine.run(*command)

    where = f"{command} with {damage}: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, where
    assert done.returncode == 1, where
    assert done.stderr.startswith(f"error: {file}"), where
    assert any(way in done.stderr for way in ("delete", "remove what is in its way", "start afresh")), where


@pytest.mark.server
@pytest.mark.slow
def test_a_record_that_is_lost_or_damaged_is_written_again(folder: Path) -> None:
    started, record = aws_server.start(0), aws_server.SERVICE.record
    whole = record.read_bytes()
    texts = [damage(whole) for damage in DAMAGES.values()]
    texts += [shape(whole, **{name: value}) for name, values in OF_RECORD.items() for value in values]
    for text in (None, *filter(None, texts)):
        record.unlink()
        if text is not None:
            record.write_bytes(text)
        assert aws_server.SERVICE.recorded() == started, text
        assert record.read_bytes() == whole

    record.unlink()
    assert aws_server.SERVICE.stop()
    for text in filter(None, texts):
        record.write_bytes(text)
        assert not aws_server.SERVICE.runs()


@pytest.mark.long
@pytest.mark.parametrize("file", ["port", "server.log", "server.json", "domain.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_other_damaged_files_stop_no_command(tmp_path: Path, file: str, damage: str) -> None:
    written(tmp_path / file, DAMAGES[damage](b"4566\n"))
    if (tmp_path / file).is_dir() and file.endswith(".json"):
        refused(Machine(tmp_path), COMMANDS[-1], tmp_path / file, damage)
        return
    for command in COMMANDS[1:]:
        done = Machine(tmp_path).run(*command)
        known = command[0] in ("preview", "down")
        assert (done.returncode, "Traceback" in done.stderr) == (0 if known else 1, False), (command, done.stderr)
        assert known or done.stderr.startswith("error: nothing runs here; start it: ")


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Machine:
    return up(machines(), "us-east-1")


@pytest.fixture
def state(machine: Machine) -> Iterator[tuple[Path, bytes]]:
    """The stack's state, and what is in it. It is put back at the end."""
    file = machine.folder / "dev.json"
    whole = file.read_bytes()
    yield file, whole
    if file.is_dir():
        file.rmdir()
    file.write_bytes(whole)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_named(machine: Machine, state: tuple[Path, bytes], damage: str) -> None:
    file, whole = state
    written(file, DAMAGES[damage](whole))
    for command in COMMANDS[:-1]:
        refused(machine, command, file, damage)


def test_a_state_that_is_changed_anywhere_is_named(machine: Machine, state: tuple[Path, bytes]) -> None:
    file, whole = state
    for place in range(0, len(whole), len(whole) // 20):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        for command in COMMANDS[1:4]:
            refused(machine, command, file, place)
