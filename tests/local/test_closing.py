"""A public stack is made private: docs/runbook.md's commands remove what the provider has added by itself."""

import json
import shlex
from collections.abc import Callable, Generator
from typing import Any

import pytest

from local.paths import ROOT
from local.resources import Aws
from tests.local.machine import Machine, mint

FUNCTION = "global-integers-dev-mint"
REGION = "eu-west-1"
STATEMENTS: list[dict[str, Any]] = [
    {
        "StatementId": "FunctionURLAllowPublicAccess",
        "Action": "lambda:InvokeFunctionUrl",
        "Principal": "*",
        "FunctionUrlAuthType": "NONE",
    },
    {
        "StatementId": "FunctionURLAllowInvokeAction",
        "Action": "lambda:InvokeFunction",
        "Principal": "*",
        "InvokedViaFunctionUrl": True,
    },
]
"""Those that pulumi-aws adds where it creates a public URL, and leaves where the URL is made private."""


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up(REGION)
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


def commands() -> list[dict[str, str]]:
    """Return the options of the page's commands, by their names in Lambda's API."""
    section = (ROOT / "docs" / "runbook.md").read_text().partition("## Make a public stack private")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("aws ")]
    found: list[dict[str, str]] = []
    for line in lines:
        program, service, command, *options = shlex.split(line)
        assert (program, service, command) == ("aws", "lambda", "remove-permission")
        names = ["".join(part.capitalize() for part in name[2:].split("-")) for name in options[::2]]
        found.append(dict(zip(names, options[1::2], strict=True)))
    return found


def test_the_commands_remove_all_that_lets_everyone_in(machine: Machine) -> None:
    functions = Aws(f"http://127.0.0.1:{machine.port}").client("lambda", REGION)
    for statement in STATEMENTS:
        functions.add_permission(FunctionName=FUNCTION, **statement)
    url = machine.outputs()["urls"][REGION]
    assert mint(url)[0] == 200

    closed = machine.up(REGION, settings=("authorization=AWS_IAM",))

    assert closed.returncode == 0, closed.stderr
    assert mint(url)[0] == 403, "what is left lets nobody in"
    left = json.loads(functions.get_policy(FunctionName=FUNCTION)["Policy"])["Statement"]
    assert {statement["Sid"] for statement in left} == {entry["StatementId"] for entry in STATEMENTS}
    for options in commands():
        assert options.pop("Region") == REGION
        assert options["FunctionName"] == "global-integers-production-mint"
        functions.remove_permission(FunctionName=FUNCTION, StatementId=options["StatementId"])
    left = json.loads(functions.get_policy(FunctionName=FUNCTION)["Policy"])["Statement"]
    assert left == [], "AWS has no policy then; this server has an empty one"
