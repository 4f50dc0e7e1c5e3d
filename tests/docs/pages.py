"""README.md and docs/, as tests read them: the sections of a page, its blocks of code, its commands."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from local.paths import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def page(name: str) -> str:
    """Return the text of a page of docs/, or of `../README.md`."""
    return (DOCS / name).read_text()


def section(name: str, title: str) -> str:
    """Return what a page has under a heading."""
    found = page(name).partition(f"# {title}\n")[2].partition("\n## ")[0]
    assert found, f"{name} has no section {title!r}"
    return found


def sections(name: str) -> dict[str, str]:
    """Return all sections of a page by their titles."""
    parts = (part.partition("\n") for part in page(name).split("\n## ")[1:])
    return {title: text for title, _, text in parts}


def blocks(text: str, language: str = r"\w+") -> Sequence[tuple[str, str]]:
    """Return the language and the code of each block in a text."""
    return re.findall(rf"```({language})\n(.*?)```", text, re.DOTALL)


def code(text: str, language: str) -> str:
    """Return the code of the only block in this language."""
    ((_, found),) = blocks(text, language)
    return found


def commands(text: str, start: str = "") -> Sequence[list[str]]:
    """Return the shell commands with these words in a text's blocks, split into words; those within `$(…)` too."""
    found: list[str] = []
    for _, block in blocks(text, "sh|bash"):
        for line in re.sub(r"(^|\s)#.*", "", block.replace("\\\n", " "), flags=re.MULTILINE).splitlines():
            found += re.split(r"&&|;", re.sub(r"\$\([^)]*\)", "value", line)) + re.findall(r"\$\(([^)]*)\)", line)
    return [shlex.split(part) for part in found if part.strip() and (start and f" {start} ") in f" {part} "]


def deployments(text: str, **found: Any) -> Iterator[dict[str, Any]]:
    """Yield the settings of each `pulumi up` in a text: those of before, and what its commands have set by then."""
    for words in commands(text, "pulumi"):
        if words[:3] == ["pulumi", "config", "set"]:
            *path, last = (int(key) if key.isdigit() else key for key in re.findall(r'[^.\[\]"]+', words[-2]))
            holder: Any = found
            for key, following in pairwise((*path, last)):
                holder = holder.setdefault(key, [] if isinstance(following, int) else {})
            value = int(words[-1]) if words[-1].isdigit() else words[-1]
            if isinstance(last, int):
                holder[last : last + 1] = [value]
            else:
                holder[last] = value
        elif words[:2] == ["pulumi", "up"]:
            yield found
