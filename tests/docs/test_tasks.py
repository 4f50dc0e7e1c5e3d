"""The commands of the page of tasks work: the client's in memory, settings in the program, others on one machine."""

import json
import subprocess
import sys
from typing import Any

import pytest
from global_integers import Integers, command_line
from global_integers.testing import Stack

from local.paths import ROOT
from tests.components.running import THREE, config, settings
from tests.docs.pages import blocks, code, commands, deployments, page, sections
from tests.local.machine import Machine, mint

PAGE = page("tasks.md")
ON_ONE_MACHINE = [block for _, block in blocks(PAGE, "sh") if block.startswith("# on one machine\n")]


@pytest.mark.parametrize("words", commands(PAGE, "global-integers"), ids=" ".join)
def test_a_command_of_the_client_works(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stack(counters=["integers", "orders", "invoices", "invoices-2026"], max_counters=10) as stack:
        stack.integers()["orders"].take(99)
        stack.jump()
        stack.jump()  # above the floor that the page sets

        def client(_: object, **options: Any) -> Integers:
            return stack.integers(**options)

        monkeypatch.setattr(command_line, "Integers", client)
        monkeypatch.setattr(command_line, "sleep", stack.tick)
        monkeypatch.setenv("GLOBAL_INTEGERS_URLS", json.dumps(stack.urls))

        assert command_line.main(words[1:]) == 0
        assert capsys.readouterr().out


def test_the_settings_of_the_tasks_are_accepted() -> None:
    for text in sections("tasks.md").values():
        for found in deployments(text, regions=[*THREE], counters=["integers", "orders"]):
            others = {key: value for key, value in found.items() if key != "regions"}
            assert settings(config(*found["regions"], **others)).regions == tuple(found["regions"])


@pytest.mark.long
def test_the_tasks_do_on_one_machine_what_they_say(fresh: Machine) -> None:
    assert fresh.up().returncode == 0
    minted: list[int] = []
    for block in ON_ONE_MACHINE:
        if " lose " in block:  # a region that has left by now
            assert fresh.up().returncode == 0
        lines = commands(f"```sh\n{block}```")
        for words in lines:
            if words[3:4] == ["up"] and len(lines) == 1:  # nothing follows from it, and tests of settings deploy them
                words[3] = "preview"
            done = run(fresh, words)
            while "skipped" in done.stdout:  # a scheduled run is at work
                done = run(fresh, words)
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            assert "Nothing was moved" not in done.stdout
            if "rate" in words[-1]:
                assert json.loads(done.stdout)["counters"]["orders"]["perSecond"] == 0.0
            if any(word.startswith("regions=") for word in words):
                outputs = fresh.outputs()
                joining = "us-west-2" in words[-1]
                assert all(part in done.stdout for part in code(PAGE, "text").strip().split("; ") if joining)
                minted += [mint(url)[1]["integer"] for url in outputs["urls"].values()]
                assert outputs["counters"]["integers"]["pending"] == []
            if '"invoices"' in words[-1]:
                status, _ = mint(fresh.outputs()["urls"]["us-east-1"], "invoices")
                assert status == (404 if "delete" in words[-1] else 200)
            if "bills" in words[-1]:
                assert mint(fresh.outputs()["urls"]["us-east-1"], "bills")[1]["integer"] >= 5_000_000
    assert len({*minted}) == len(minted) == 10


def run(machine: Machine, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command of the page: of `local`, or of the client."""
    if words[0] != "global-integers":
        assert words[:3] == [".venv/bin/python", "-m", "local"], words
        return machine.run(*words[3:])
    client = [sys.executable, "-m", "global_integers", "--urls", json.dumps(machine.outputs()["urls"]), *words[1:]]
    environment = {**machine.environment, "PYTHONPATH": str(ROOT / "client" / "src")}
    return subprocess.run(client, cwd=ROOT, env=environment, capture_output=True, text=True)
