"""docs/settings.md lists the settings of the project file."""

import json
import re

import yaml

from local.paths import ROOT

PAGE = (ROOT / "docs" / "settings.md").read_text()


def test_the_settings_are_those_of_the_project_file() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]

    assert rows == [
        (
            key,
            entry["type"],
            f"`{entry['default'] if isinstance(entry['default'], str) else json.dumps(entry['default'])}`"
            if "default" in entry
            else "required",
            entry["description"],
        )
        for key, entry in declared.items()
    ]
