"""Commands on the pages exist. Those that run without AWS are run too: here, in tests/local and in tests/recipes."""

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
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
from tests.docs.test_pages import CONTRIBUTORS, PAGES

TEXT = {page.name: page.read_text() for page in PAGES}
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE)
PROJECT = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())

ALL_COMMANDS = {"--region", "--cli-binary-format", "--query", "--output"}
"""Options that every command of the AWS CLI has."""


def commands(start: str) -> Sequence[list[str]]:
    """Return every shell command on the pages with these words, split into words."""
    lines = (
        line
        for text in TEXT.values()
        for block in re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
    )
    return [shlex.split(part, comments=True) for line in lines for part in parts(line) if starts(start, part)]


def parts(line: str) -> list[str]:
    """Return a line's commands one by one, without comments; those within `$(…)` come last."""
    line = re.sub(r"(^|\s)#.*", "", line)
    alone = re.sub(r"\$\([^)]*\)", "value", line)
    return [part.strip() for part in (*re.split(r"&&|;", alone), *re.findall(r"\$\(([^)]*)\)", line))]


def starts(start: str, command: str) -> bool:
    return re.search(rf"(^|\s){re.escape(start)}(\s|$)", command) is not None


def test_every_make_target_that_is_named_exists() -> None:
    texts = (*TEXT.values(), *(page.read_text() for page in CONTRIBUTORS))
    named = {name for text in texts for name in re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)}

    assert {"demo", "test", "down", "check", "lock"} <= named
    assert named <= set(TARGETS)


@pytest.mark.needs("make")
def test_make_help_lists_every_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert all(f"make {target}" in shown for target in TARGETS if target != "help")


def test_make_demo_is_the_same_as_the_lines_without_make() -> None:
    planned = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    without = TEXT["README.md"].partition("### Without make\n")[2].partition("\n## ")[0]

    for command in ("python -m local up", "python -m local demo", "python3 -m venv .venv"):
        assert command in without
    assert "python -m local up" in planned
    assert "python -m local demo" in planned
    for file in re.findall(r"-r (\S+)", without):
        assert (ROOT / file).is_file()


def test_the_local_commands_take_the_options_that_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = commands("-m local")
    assert {command[command.index("local") + 1] for command in shown} >= {"up", "demo", "outputs"}
    for command in shown:
        name, *options = command[command.index("local") + 1 :]
        with pytest.raises(SystemExit):
            main([name, "--help"])
        known = capsys.readouterr().out.replace("\n", " ")
        assert [option for option in options if option.startswith("-") and f"{option} " not in known] == []


def test_the_settings_that_are_set_exist() -> None:
    for command in commands("pulumi config set"):
        (key, *_) = [word for word in command[3:] if not word.startswith("-")]
        name = re.split(r"[.\[]", key)[0]
        of_provider = name.startswith("aws:") and hasattr(ProviderArgs, xform_name(name.removeprefix("aws:")))
        assert name in PROJECT["config"] or of_provider, shlex.join(command)


def test_the_settings_of_one_run_exist() -> None:
    options = [word for command in commands("-m local up") for word in command if re.match(r"[a-zA-Z]+=", word)]

    assert "memorySize" in {word.partition("=")[0] for word in options}
    assert {word.partition("=")[0] for word in options} <= set(PROJECT["config"])


def test_the_outputs_that_are_read_exist() -> None:
    exported = set(re.findall(r'pulumi\.export\(\s*"(\w+)"', (ROOT / "__main__.py").read_text()))
    read = {command[3] for command in commands("pulumi stack output")} - {"--json"}  # which reads all

    assert {"urls", "counters", "coordinator", "gatewayUrls"} <= read <= exported


def test_the_stack_of_the_pulumi_cli_exists() -> None:
    stacks = {command[command.index("--stack") + 1] for command in commands("pulumi up") if "--stack" in command}

    assert stacks == {"local"}
    assert all((ROOT / "local" / f"Pulumi.{stack}.yaml").is_file() for stack in stacks)


@pytest.mark.slow
@pytest.mark.parametrize("command", commands("aws"), ids=lambda command: " ".join(command[1:3]))
def test_the_aws_cli_has_the_command_and_its_options(command: list[str]) -> None:
    _, service, name, *options = command
    model: Any = botocore.session.get_session().get_service_model(service)
    operations = {xform_name(operation, "-"): operation for operation in model.operation_names}
    assert name in operations
    shape = model.operation_model(operations[name]).input_shape
    known = {f"--{xform_name(member, '-')}": member for member in shape.members}

    options = [re.sub(r"^--no-", "--", option) for option in options if option.startswith("--")]
    assert set(options) - ALL_COMMANDS <= set(known)
    assert {member for option, member in known.items() if option not in options} & set(shape.required_members) == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in commands("aws") if "--query" in c], ids=lambda c: " ".join(c[1:3]))
def test_what_a_query_asks_for_is_in_the_response(command: list[str]) -> None:
    model: Any = botocore.session.get_session().get_service_model(command[1])
    operations = {xform_name(operation, "-"): operation for operation in model.operation_names}
    query = command[command.index("--query") + 1].replace("\\`", "`")

    every = re.sub(r"\[\?[^]]*\]", "[]", query)  # without conditions
    assert jmespath.compile(query)
    found = jmespath.search(every, sample(model.operation_model(operations[command[2]]).output_shape))
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


def test_the_coordinator_takes_the_payloads() -> None:
    payloads = [command[command.index("--payload") + 1] for command in commands("aws lambda invoke")]

    assert {request_of(json.loads(payload)) for payload in payloads} == {
        Create(("invoices",)),
        Delete(("invoices",)),
        ScheduledRun(),
        Back(),
        Listing(10),
    }
