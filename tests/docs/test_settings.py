"""`Pulumi.yaml` and docs/settings.md have the settings of the program: `python -m tests.docs.test_settings`."""

import json
import re
from typing import Any

import yaml
from pulumi.provider.experimental.analyzer import Analyzer

from components.settings import NOT_IN_PROJECT_NAMESPACE
from components.settings.args import SETTINGS, GlobalIntegersArgs
from components.settings.values import camel
from local.paths import ROOT
from tests.plugin.test_package import TOKEN, schema

PROJECT, PAGE = ROOT / "Pulumi.yaml", ROOT / "docs" / "settings.md"
TABLE = re.compile(r"(?<=\|---\|---\|---\|---\|\n)(\| `\w+` .*\n)+")


def declared() -> dict[str, dict[str, Any]]:
    """Return `config` of `Pulumi.yaml`: each setting, but for those that a stack has elsewhere."""
    component = schema()["resources"][TOKEN]
    found: dict[str, dict[str, Any]] = {}
    for name, setting in SETTINGS.items():
        if name not in NOT_IN_PROJECT_NAMESPACE:
            key = camel(name)
            text = Analyzer("docs").get_docstring(GlobalIntegersArgs, name) or ""
            default = {"default": setting.metadata["allowed"].default}
            found[key] = {
                **typed(component["inputProperties"][key]),
                **({} if key in component["requiredInputs"] else default),
                "description": " ".join(text.split()),
            }
    return found


def typed(of: dict[str, Any]) -> dict[str, Any]:
    """Return a property's type without its texts."""
    return {"type": of["type"], **({"items": typed(of["items"])} if "items" in of else {})}


def project(text: str) -> str:
    """Return the text of `Pulumi.yaml` with the settings."""
    config = yaml.safe_dump({"config": declared()}, sort_keys=False, allow_unicode=True, width=10_000)
    return text.partition("config:\n")[0] + config


def page(text: str) -> str:
    """Return the text of the page with the settings in its table."""
    rows = [
        f"| `{key}` | {entry['type']} | {shown(entry)} | {entry['description']} |\n"
        for key, entry in declared().items()
    ]
    return TABLE.sub(lambda _: "".join(rows), text, count=1)


def shown(entry: dict[str, Any]) -> str:
    """Return a default as the table has it."""
    if "default" not in entry:
        return "required"
    default = entry["default"]
    return f"`{default if default and isinstance(default, str) else json.dumps(default)}`"


def test_the_project_file_has_the_settings_of_the_program() -> None:
    assert PROJECT.read_text() == project(PROJECT.read_text()), "python -m tests.docs.test_settings"


def test_the_page_has_the_settings_of_the_program() -> None:
    assert "| `memorySize` | integer | `256` |" in PAGE.read_text()
    assert '| `domain` | string | `""` |' in PAGE.read_text()
    assert PAGE.read_text() == page(PAGE.read_text()), "python -m tests.docs.test_settings"


if __name__ == "__main__":
    for path, written in ((PROJECT, project), (PAGE, page)):
        path.write_text(written(path.read_text()))
