"""docs/recipes.md, and other pages, as the tests read them."""

import re
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from local.paths import ROOT

STRIDE = 3
"""Of the deployment that the recipes are run against."""
HANG = 240.0
"""Seconds after which a test gives up: ten times what a machine with several busy processes on each core needs."""

Result = subprocess.CompletedProcess[str]

Start = Callable[..., "subprocess.Popen[str]"]
"""`start("sh", code)` starts a block."""

Run = Callable[..., Result]
"""`run("sh", code)` runs a block to its end."""

Client = Callable[[str], Any]
"""`aws("dynamodb")` is boto3's client of a service; the stubs know only some of them."""

Table = Callable[[str], Callable[[], list[dict[str, Any]]]]
"""`table(name)` creates a table and returns what reads its items."""


def blocks(title: str, page: str = "docs/recipes.md") -> Sequence[tuple[str, str]]:
    """Return the language and the code of each block in the section of that title."""
    section = (ROOT / page).read_text().partition(f"# {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    assert found, f"{page} has no section {title!r} with code"
    return found


SET_UP, PREPARE = (code for _, code in blocks("On one machine"))
