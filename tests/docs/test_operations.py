"""docs/operations.md has a paragraph for every alarm. Its tables are generated."""

import re

from components.monitoring.alarms import ALARMS
from local.paths import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()


def test_every_alarm_has_its_paragraph_in_order() -> None:
    parts = re.split(r"^### (\w+)\n", PAGE.partition("## What it costs")[0], flags=re.MULTILINE)

    assert parts[1::2] == [*ALARMS]
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        assert re.findall(r"^\*(.*?)\* ", text, re.MULTILINE) == ["Look at", "Do"], name
