"""Commands on the pages exist, and what they name. tests/local and tests/recipes run those that need no AWS."""

import json
import re
import subprocess
from typing import Any

import botocore.session
import jmespath
import pytest
import yaml
from botocore import xform_name
from coordinate.events import Back, Listing, request_of
from coordinate.protocol.run import Create, Delete, ScheduledRun
from pulumi_aws import ProviderArgs

from local.command_line import main
from local.paths import ROOT
from tests.docs.calls import CALLS, calls
from tests.docs.pages import PAGES, commands

EVERY_PAGE = "\n".join(path.read_text() for path in PAGES)
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
SETTINGS = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
SHOWN = "\n".join(call["shows"] for call in calls(CALLS.read_text()) if "shows" in call)
OF_AWS = [*commands(EVERY_PAGE, "aws"), *commands(f"```sh\n{SHOWN}\n```", "aws")]

ALL_COMMANDS = {"--region", "--cli-binary-format", "--cli-read-timeout", "--query", "--output", "--debug"}
"""Options that every command of the AWS CLI has."""


@pytest.mark.needs("make")
def test_every_make_target_that_is_named_exists() -> None:
    text = "\n".join([EVERY_PAGE, (ROOT / "CONTRIBUTING.md").read_text()])
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert {*re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)} <= {*TARGETS}
    assert [target for target in TARGETS if f"make {target}" not in shown] == []


def test_the_local_commands_take_the_options_that_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(EVERY_PAGE, "-m local"):
        name, *options = command[command.index("local") + 1 :]
        with pytest.raises(SystemExit):
            main([name, "--help"])
        known = capsys.readouterr().out.replace("\n", " ")
        assert [option for option in options if option.startswith("-") and f"{option} " not in known] == []


def test_the_settings_that_are_set_exist() -> None:
    found = {
        word for command in commands(EVERY_PAGE, "-m local up") for word in command if re.match(r"[a-zA-Z]+=", word)
    }
    for command in commands(EVERY_PAGE, "pulumi config set"):
        found.add(next(word for word in command[3:] if not word.startswith("-")))
    names = {re.split(r"[.\[=]", each)[0] for each in found}
    of_provider = {name for name in names if hasattr(ProviderArgs, xform_name(name.removeprefix("aws:")))}

    assert {"memorySize", "regions"} <= names
    assert {name for name in of_provider if name.startswith("aws:")} | SETTINGS.keys() >= names


def test_the_outputs_that_are_read_exist() -> None:
    exported = re.findall(r'pulumi\.export\(\s*"(\w+)"', (ROOT / "__main__.py").read_text())
    read = {command[3] for command in commands(EVERY_PAGE, "pulumi stack output")} - {"--json"}  # which reads all

    assert {"urls", "coordinator"} <= read <= {*exported}


def test_the_stack_of_the_pulumi_cli_exists() -> None:
    stacks = [command[command.index("--stack") + 1] for command in commands(EVERY_PAGE, "--stack")]

    assert stacks
    assert [stack for stack in stacks if not (ROOT / "local" / f"Pulumi.{stack}.yaml").is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_AWS, ids=lambda command: " ".join(command[1:3]))
def test_the_aws_cli_has_the_command_and_its_options(command: list[str]) -> None:
    _, service, name, *options = command
    model: Any = botocore.session.get_session().get_service_model(service)
    operations = {xform_name(operation, "-"): operation for operation in model.operation_names}
    shape = model.operation_model(operations[name]).input_shape
    known = {f"--{xform_name(member, '-')}": member for member in shape.members}

    passed = {re.sub(r"^--no-", "--", option) for option in options if option.startswith("--")}
    assert passed - ALL_COMMANDS <= known.keys()
    assert {known[option] for option in passed - ALL_COMMANDS} >= {*shape.required_members}
    if "--query" in options:  # what it asks for is in the response
        query = options[options.index("--query") + 1].replace("\\`", "`")
        assert jmespath.compile(query)
        every = re.sub(r"\[\?[^]]*\]", "[]", query)  # without conditions
        found = jmespath.search(every, sample(model.operation_model(operations[name]).output_shape))
        assert found
        assert "null" not in json.dumps(found)


def sample(shape: Any, depth: int = 8) -> Any:
    """Return a response of a shape, with everything that it may have."""
    match shape.type_name:
        case "structure" if depth:
            return {name: sample(member, depth - 1) for name, member in shape.members.items()}
        case "list":
            return [sample(shape.member, depth)]
        case "map":
            return {"p99": sample(shape.value, depth)}
        case other:
            return 1 if other in ("integer", "long", "double", "float") else other


def test_no_invocation_is_repeated_after_a_minute() -> None:
    """Which the AWS CLI does while a run of the coordinator still goes on, since no response has begun to arrive."""
    invocations = [" ".join(command) for command in OF_AWS if command[:3] == ["aws", "lambda", "invoke"]]

    assert len(invocations) >= 6
    assert [each for each in invocations if "--cli-read-timeout 0" not in each] == []


def test_the_coordinator_takes_the_payloads() -> None:
    payloads = [command[command.index("--payload") + 1] for command in commands(EVERY_PAGE, "aws lambda invoke")]

    assert {request_of(json.loads(payload)) for payload in payloads} == {
        *(Create(("invoices",)), Delete(("invoices",)), ScheduledRun(), Back(), Listing(10)),
    }
