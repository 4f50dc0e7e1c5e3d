"""Which files import which, by reading them."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ON_THE_PATH = ("client/src", "lambda")
"""Folders that are themselves on the import path. All others are imported by their names, from the root."""

Name = tuple[str, ...]


def modules(root: Path, folders: tuple[str, ...]) -> dict[Name, Path]:
    """Return the files of these folders by the names that they are imported by: `("local", "stack")`."""
    found: dict[Name, Path] = {}
    for folder in folders:
        for path in (root / folder).rglob("*.py"):
            found[path.relative_to(root / folder if folder in ON_THE_PATH else root).with_suffix("").parts] = path
    return found


def imported(module: Name, path: Path, files: Mapping[Name, Path]) -> Iterator[Name]:
    """Yield which of `files` a file imports, wherever in it: in functions and classes, too."""
    named: list[Name] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = module[: -node.level] if node.level else ()
            source = tuple(node.module.split(".")) if node.module else ()
            named += [(*package, *source, alias.name) for alias in node.names]
    for name in named:
        beginnings = (name[:length] for length in range(len(name), 0, -1))
        ends = (end for beginning in beginnings for end in (beginning, (*beginning, "__init__")) if end in files)
        if (other := next(ends, module)) != module:
            yield other
