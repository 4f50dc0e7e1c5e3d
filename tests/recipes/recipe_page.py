"""docs/recipes.md as the tests read it."""

import re
import subprocess
from collections.abc import Sequence

from local.paths import ROOT

STRIDE = 3
"""Of the deployment that the recipes are run against."""

Result = subprocess.CompletedProcess[str]


def blocks(title: str) -> Sequence[tuple[str, str]]:
    """The language and the code of each block in the section of that title."""
    page = (ROOT / "docs" / "recipes.md").read_text()
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    assert found, f"docs/recipes.md has no section {title!r} with code"
    return found
