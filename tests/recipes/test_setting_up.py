"""A new user's way: the commands of README.md, and the set-up with which docs/recipes.md begins."""

import json
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from local.paths import ROOT
from tests.local.machine import Machine
from tests.recipes.recipe_page import COUNTERS, STRIDE, Client, Result, blocks

SET_UP, PREPARE = (code for _, code in blocks("On one machine"))


@pytest.fixture
def as_a_new_user(machine: Machine, tmp_path: Path) -> Any:
    """`as_a_new_user(script)`: in bash, without AWS in the environment, with the pages' server."""

    def run(script: str) -> Result:
        script = script.replace(".venv/bin/python", sys.executable)
        environment = {name: value for name, value in machine.environment.items() if not name.startswith("AWS_")}
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env={**environment, "NO_PROXY": "127.0.0.1", "HOME": str(tmp_path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def nothing_left(aws: Client) -> Generator[None]:
    """Remove what the set-up creates."""
    yield
    for table in ("orders", "invoices"):
        aws("dynamodb").delete_table(TableName=table)
    aws("sqs").delete_queue(QueueUrl=aws("sqs").get_queue_url(QueueName="orders")["QueueUrl"])


def test_after_the_set_up_the_recipes_in_python_run(as_a_new_user: Any, aws: Client, nothing_left: None) -> None:
    recipes = ("An auto-increment primary key for a DynamoDB table", "An idempotent SQS consumer")
    programs = [PREPARE, *(blocks(title)[0][1] for title in recipes)]
    result = as_a_new_user("\n".join([SET_UP, *(f".venv/bin/python - <<'END'\n{code}END" for code in programs)]))

    assert result.returncode == 0, result.stderr
    book, pen = map(int, result.stdout.splitlines()[-1].split())
    assert pen == book + STRIDE
    assert {int(order["id"]["N"]) for order in aws("dynamodb").scan(TableName="orders")["Items"]} == {book, pen}
    (invoice,) = aws("dynamodb").scan(TableName="invoices")["Items"]
    assert invoice["order"] == {"S": "a book"}


def test_the_readme_deploys_without_make_and_mints(as_a_new_user: Any, machine: Machine) -> None:
    install, deploy, test = blocks("Without make", "README.md")[0][1].splitlines()
    *_, (_, use) = blocks("Use it", "README.md")
    try:
        result = as_a_new_user(f"{deploy}\n{use.replace('curl', 'curl -sS')}")
    finally:
        machine.up(settings=(COUNTERS,))

    assert result.returncode == 0, result.stderr
    shown = [document for line in use.splitlines() for document in re.findall("# ({.*})", line)]
    minted = re.findall(r"\{.*?\}", result.stdout.rpartition("\n")[2])
    assert [{**json.loads(document), "integer": 0} for document in minted[: len(shown)]] == [
        {**json.loads(document), "integer": 0} for document in shown
    ]
    assert len(shown) == 1
    assert len(minted) == 2
    assert "just minted" in result.stdout, "the demo's table"
    assert "-m venv .venv" in install
    assert (ROOT / install.rpartition(" ")[2]).is_file()
    assert test.endswith("-m pytest")
