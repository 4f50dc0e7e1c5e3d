"""Files of the state folder that somebody has damaged: a command names the file and what to do, or does without."""

import json
from pathlib import Path

import pytest

from local.server import aws_server
from tests.local.machine import Machine


@pytest.mark.server
@pytest.mark.slow
def test_a_record_that_is_lost_or_damaged_is_written_again(folder: Path) -> None:
    started, record = aws_server.start(0), aws_server.SERVICE.record
    whole = record.read_text()
    texts = ["", whole[:20], "{}", "[" * 100_000]
    texts += [json.dumps({**json.loads(whole), **wrong}) for wrong in ({"pid": "x"}, {"pid": 1}, {"port": None})]
    for text in texts:
        record.write_text(text)
        assert aws_server.SERVICE.recorded() == started, text
        assert record.read_text() == whole
    record.unlink()
    assert aws_server.SERVICE.recorded() == started
    assert aws_server.SERVICE.stop()
    for text in texts:
        record.write_text(text)
        assert not aws_server.SERVICE.runs()


@pytest.mark.slow
def test_a_damaged_state_is_named_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text("{")
    commands = ("up", "preview", "status", "outputs", "demo", "logs", "lose", "send {}")
    for command in commands:
        done = Machine(tmp_path).run(*command.split())
        assert (done.returncode, done.stdout) == (1, "")
        known = done.stderr.startswith(f"error: {tmp_path}/dev.json is damaged; delete it and deploy again: what runs")
        assert known, done.stderr
    assert Machine(tmp_path).run("down").returncode == 0
    assert not (tmp_path / "dev.json").exists()
