"""The page of tasks answers each question, and its commands work: the client's in memory, settings in the program."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from global_integers import Integers, command_line
from global_integers.testing import Stack

from local.aws_clients import Aws
from local.paths import ROOT
from proof.bench import price
from tests.components.running import THREE, config, settings
from tests.docs.test_commands import parts
from tests.local.machine import Machine, mint

PAGE = (ROOT / "docs" / "tasks.md").read_text()
README = (ROOT / "README.md").read_text()
AUDIT = (ROOT / "docs" / "audit.md").read_text()

TASKS = {
    "a region is down": "A region is down",
    "3 → 4 regions": "From three regions to four",
    "move a region": "Move a region",
    "what does it cost": "What it costs",
    "back up": "Back up and restore",
    "who minted what": "Who minted what",
    "list all counters with their rates": "List all counters with their rates",
    "create a counter": "Create a counter",
    "delete, archive or rename a counter": "Delete, archive or rename a counter",
    "limit who may mint": "Limit who may mint",
    "monthly or yearly numbers": "Numbers that restart every year",
    "numbers that don't tell how many there are": "Numbers that don't tell how many there are",
    "short numbers": "Short numbers",
    "a sale while the home region is down": "A sale while the home region is down",
    "test my application": "Test my application",
    "test my Pulumi program": "Test my Pulumi program",
    "upgrade": "Upgrade",
    "go back": "Go back",
}
"""What a user asks → the heading."""

SECTIONS: dict[str, str] = {
    title.strip(): text for title, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
}


def shell(text: str) -> Sequence[list[str]]:
    """Return the commands of a text's blocks, split into words."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(part, comments=True) for line in lines for part in parts(line) if part]


ON_ONE_MACHINE = {
    title: shell(f"```sh\n{block}```")
    for title, text in SECTIONS.items()
    for block in re.findall(r"```sh\n# on one machine\n(.*?)```", text, re.DOTALL)
}
"""Heading → what its task looks like against `make demo`."""


def test_a_task_for_aws_can_be_tried_on_one_machine() -> None:
    on_aws = [title for title, text in SECTIONS.items() if {"aws", "pulumi"} & {words[0] for words in shell(text)}]

    assert [title for title in on_aws if title not in ON_ONE_MACHINE] == []


def test_every_question_has_an_answer_of_its_own() -> None:
    assert list(SECTIONS) == list(TASKS.values())


@pytest.mark.parametrize("title", SECTIONS)
def test_an_answer_is_short_and_leads_to_the_details(title: str) -> None:
    text = SECTIONS[title]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)

    assert re.search(r"\]\([\w./]+(#[\w-]+)?\)", text), "a link"
    assert "```sh\n" in text
    assert all(", because " in reason for reason in re.findall(r"not possible[^.]*", text))
    assert len([line for line in prose.splitlines() if line.strip()]) <= 6


@pytest.mark.slow
def test_what_an_audit_costs_is_what_its_page_says() -> None:
    rows: list[tuple[str, str]] = re.findall(
        r"^\| (?:a Function|the same|API).* \| (\S+) \| (\S+) \|$", AUDIT, re.MULTILINE
    )
    said = f"${rows[0][0]} per million calls, or up to ${max(row[1] for row in rows)} with the writes into the tables"
    assert said in SECTIONS["Who minted what"]
    (metric,) = (item.each for item in price.cases()["default"] if item.name == "custom metrics")
    assert f"would cost ${metric:.2f} a month" in SECTIONS["List all counters with their rates"]


def test_the_readme_and_the_runbook_lead_to_it_first() -> None:
    _, _, more = README.partition("## Read more\n")
    assert re.findall(r"\]\(([^)]+)\)", more)[0] == "docs/tasks.md"
    assert re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "runbook.md").read_text())[0] == "tasks.md"


COMMANDS = [words for text in SECTIONS.values() for words in shell(text) if words[0] == "global-integers"]


def test_the_commands_of_the_client_are_those_that_are_tried() -> None:
    assert {words[1] for words in COMMANDS} >= {"status", "counters", "owner", "create", "mint", "check"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_the_client_works(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Stack(counters=["integers", "orders", "invoices", "invoices-2026"], max_counters=10) as stack:
        stack.integers()["orders"].take(99)

        def client(_: object, **options: Any) -> Integers:
            return stack.integers(**options)

        monkeypatch.setattr(command_line, "Integers", client)
        monkeypatch.setattr(command_line, "sleep", stack.tick)
        monkeypatch.setenv("GLOBAL_INTEGERS_URLS", json.dumps(stack.urls))

        assert command_line.main(words[1:]) == 0
        assert capsys.readouterr().out


CONFIGURED = [title for title, text in SECTIONS.items() if ["pulumi", "config"] in [words[:2] for words in shell(text)]]


def deployments(title: str) -> Iterator[dict[str, Any]]:
    """Yield the settings of each `pulumi up` in an answer, after what it sets. The stack begins with three regions."""
    found: dict[str, Any] = {"regions": list(THREE), "counters": ["integers", "orders"]}
    for words in shell(SECTIONS[title]):
        if words[:4] == ["pulumi", "config", "set", "--path"]:
            set_path(found, words[4], words[5])
        elif words == ["pulumi", "up"]:
            yield found


@pytest.mark.parametrize("title", CONFIGURED)
def test_the_settings_of_a_task_are_accepted(title: str) -> None:
    for found in deployments(title):
        accepted = settings(config(*found["regions"], **{key: found[key] for key in found.keys() - {"regions"}}))
        assert list(accepted.regions) == found["regions"]


def up(machine: Machine, title: str) -> dict[str, Any]:
    """Do what an answer says. Returns the outputs."""
    for found in deployments(title):
        done = machine.up(settings=tuple(f"{key}={json.dumps(value)}" for key, value in found.items()))
        assert done.returncode == 0, done.stderr
    return machine.outputs()


@pytest.mark.long
def test_tasks_about_regions_and_counters_do_what_they_say(fresh: Machine) -> None:
    counters = 'counters=["integers", "orders"]'
    assert fresh.up(settings=(counters,)).returncode == 0
    minted = [mint(url)[1]["integer"] for url in fresh.outputs()["urls"].values()]

    four = up(fresh, "From three regions to four")
    minted += [mint(url)[1]["integer"] for url in four["urls"].values()]
    assert four["counters"]["integers"]["pending"] == []
    assert len(four["urls"]) == 4

    assert fresh.up(settings=('leaving=["us-west-2"]', counters)).returncode == 0
    moved = up(fresh, "Move a region")
    minted += [mint(url)[1]["integer"] for url in moved["urls"].values()]
    assert list(moved["urls"]) == ["us-east-1", "eu-central-1", "ap-southeast-2"]
    left, problem = mint(four["urls"]["eu-west-1"])
    assert (left, problem["regions"]) == (410, list(moved["urls"]))
    assert len(minted) == len({*minted}) == 10

    client = Aws(fresh.endpoint).client("lambda", "us-east-1")
    statuses: list[int] = []
    for title in ("Create a counter", "Delete, archive or rename a counter"):
        (payload,) = [words[words.index("--payload") + 1] for words in shell(SECTIONS[title]) if "--payload" in words]
        answer = client.invoke(FunctionName=f"{moved['coordinator']}:deployments", Payload=payload)
        assert "FunctionError" not in answer, answer["Payload"].read()
        statuses.append(mint(moved["urls"]["us-east-1"], "invoices")[0])
    assert statuses == [200, 404]

    renamed = up(fresh, "Delete, archive or rename a counter")
    assert mint(renamed["urls"]["us-east-1"], "bills")[1]["integer"] >= 5_000_000


@pytest.mark.long
def test_each_task_runs_on_one_machine_as_it_stands(fresh: Machine) -> None:
    for title, commands in ON_ONE_MACHINE.items():
        assert fresh.up().returncode == 0, title
        urls = json.dumps(fresh.outputs()["urls"])
        for words in commands:
            done = on_machine(fresh, words, urls)
            while "skipped" in done.stdout:  # a scheduled run is at work
                done = on_machine(fresh, words, urls)
            assert done.returncode == 0, (title, words, done.stdout, done.stderr)
            assert "Nothing was moved" not in done.stdout
            if "counters" in words[-1] and words[3:4] == ["send"]:
                assert json.loads(done.stdout)["counters"]["orders"]["perSecond"] == 0.0


def on_machine(machine: Machine, words: list[str], urls: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of the page: of `local`, or of the client with these URLs."""
    if words[0] == "global-integers":
        client = [sys.executable, "-m", "global_integers", "--urls", urls, *words[1:]]
        environment = {**machine.environment, "PYTHONPATH": str(ROOT / "client" / "src")}
        return subprocess.run(client, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert words[:3] == [".venv/bin/python", "-m", "local"], words
    return machine.run(*words[3:])


def set_path(found: dict[str, Any], path: str, value: str) -> None:
    """Do what `pulumi config set --path` does."""
    names = re.findall(r"\[\"([^\"]+)\"\]|\[(\d+)\]|\.?(\w+)", path)
    keys: list[Any] = [int(number) if number else name or word for name, number, word in names]
    holder: Any = found
    for key, following in pairwise(keys):
        holder = holder.setdefault(key, [] if isinstance(following, int) else {})
    if isinstance(holder, list):
        holder[keys[-1] : keys[-1] + 1] = [value]
    else:
        holder[keys[-1]] = int(value) if value.isdigit() else value
