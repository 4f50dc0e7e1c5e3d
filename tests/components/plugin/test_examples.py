"""The examples and the template: what they say is what the package takes, and they deploy."""

import json
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import components
from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.paths import ROOT
from local.stack import State
from tests.components.recording import Aws as Recorded
from tests.components.running import run_program
from tools.generated import TOKEN, schema

EXAMPLES = ROOT / "examples"
TEMPLATE = ROOT / "examples" / "template"
COMPONENT = schema()["resources"][TOKEN]


def test_each_program_gives_known_inputs() -> None:
    integers = yaml.safe_load((EXAMPLES / "yaml" / "Pulumi.yaml").read_text())["resources"]["integers"]
    named = {
        "yaml": integers["properties"],
        "typescript": re.findall(r"^    (\w+): ", (EXAMPLES / "typescript" / "index.ts").read_text(), re.MULTILINE),
        "go": re.findall(r"^\t{3}(\w+): ", (EXAMPLES / "go" / "main.go").read_text(), re.MULTILINE),
    }

    assert integers["type"].split(":") == [TOKEN.split(":")[0], TOKEN.split(":")[-1]]
    for language, inputs in named.items():
        plugin = yaml.safe_load((EXAMPLES / language / "Pulumi.yaml").read_text())["packages"]["global-integers"]
        assert (EXAMPLES / language / plugin).resolve() == ROOT / "components" / "plugin", "that of this checkout"
        names = {name[0].lower() + name[1:] for name in inputs}
        assert set(COMPONENT["requiredInputs"]) < names <= set(COMPONENT["inputProperties"])
    assert "urls" in COMPONENT["properties"], "which is the output of all of them"


def test_each_sdk_comes_from_the_projects_own_folder() -> None:
    folder = "sdks/global-integers-global-integers"
    sdk = schema()
    npm = json.loads((EXAMPLES / "typescript" / "package.json").read_text())["dependencies"]
    go = (EXAMPLES / "go" / "go.mod").read_text()
    module = f"{sdk['repository'].removeprefix('https://')}/sdk/go"

    assert npm[sdk["language"]["nodejs"]["packageName"]] == f"file:{folder}"
    assert f"\nreplace {module} => ./{folder}\n" in go
    assert set(re.findall(r"^\t(\S+) v", go, re.MULTILINE)) == {module, "github.com/pulumi/pulumi/sdk/v3"}
    assert f'"{module}/globalintegers"' in (EXAMPLES / "go" / "main.go").read_text()
    assert f'"{sdk["language"]["nodejs"]["packageName"]}"' in (EXAMPLES / "typescript" / "index.ts").read_text()


@pytest.fixture
def as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The components under the name that another program imports."""
    monkeypatch.setitem(sys.modules, "pulumi_global_integers", components)


@pytest.mark.slow
@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("email", "emails"), [("", 0), ("operator@shop.example", 2)])
def test_the_templates_program_takes_what_it_asks_for(email: str, emails: int) -> None:
    asked: dict[str, Any] = yaml.safe_load((TEMPLATE / "Pulumi.yaml").read_text())["template"]["config"]
    answers = {key: str(each.get("default", email)) for key, each in asked.items()}
    config = {key if ":" in key else f"shop:{key}": answer for key, answer in answers.items() if answer}
    aws = Recorded()

    def program() -> None:
        runpy.run_path(str(TEMPLATE / "__main__.py"))

    outcome = run_program(aws, project="shop", stack="dev", config=config, program=program)

    if outcome.error is not None:
        raise outcome.error
    assert list(outcome.outputs["urls"]) == asked["regions"]["default"].split(",")
    assert len([each for each in aws.resources if each.type.endswith("TopicSubscription")]) == emails


@pytest.mark.long
@pytest.mark.server
@pytest.mark.usefixtures("as_installed")
def test_the_shops_checkout_numbers_orders(local_aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = tmp_path / "python"
    shutil.copytree(EXAMPLES / "python", example)
    shutil.copytree(ROOT / "client" / "src", example / "build")  # httpx is the functions' already
    shutil.copy(example / "checkout.py", example / "build")
    monkeypatch.chdir(example)

    def number(region: str, cart: str) -> int:
        event = json.dumps({"cart": cart, "item": "tea"})
        answer = local_aws.client("lambda", region).invoke(FunctionName="shop-checkout", Payload=event)
        document = json.loads(answer["Payload"].read())
        assert document.get("item") == "tea", document
        return document["order"]

    def program() -> None:
        runpy.run_path("__main__.py")

    deploy(Engine(local_aws, State("dev"), lambda _event, _kind, _name: None), "shop", {}, program)

    first = number("us-east-1", "cart-1")
    assert number("us-east-1", "cart-1") == number("eu-west-1", "cart-1") == first
    assert number("eu-west-1", "cart-2") != first
