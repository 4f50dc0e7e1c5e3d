"""Folders import each other in one direction only, so each can be read, and changed, without those that use it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.paths import ROOT

ON_THE_PATH = {"client/src": "client/src", "lambda": "lambda"}
"""Folders that are themselves on the import path. All others are imported by their names, from the root."""

FOLDERS = ("client/src", "components", "global_integers_core", "lambda", "local", "proof")

Name = tuple[str, ...]


def modules(root: Path, folders: tuple[str, ...]) -> dict[Name, Path]:
    """Return the files of these folders by the names that they are imported by: `("local", "stack")`."""
    found: dict[Name, Path] = {}
    for folder in folders:
        for path in (root / folder).rglob("*.py"):
            found[path.relative_to(root / ON_THE_PATH.get(folder, "")).with_suffix("").parts] = path
    return found


def imported(module: Name, path: Path) -> Iterator[Name]:
    """Yield the name of everything that a file imports, wherever in it: of functions and classes, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module[: -node.level] if node.level else ()
            named = tuple(node.module.split(".")) if node.module else ()
            yield from ((*package, *named, alias.name) for alias in node.names)


def circles(root: Path, folders: tuple[str, ...] = FOLDERS) -> list[str]:
    """Return each part of a folder that imports itself by way of others, if one of them is a folder.

    The parts of a folder are its files and its folders. An import joins the two parts of the smallest folder that has
    both files: `local/engine/floors.py` and `local/paths.py` make `local/engine` depend on `local/paths`.
    """
    files = modules(root, folders)
    joined: dict[Name, set[Name]] = {}
    for module, path in files.items():
        for name in imported(module, path):
            beginnings = (name[:length] for length in range(len(name), 0, -1))
            ends = (end for beginning in beginnings for end in (beginning, (*beginning, "__init__")) if end in files)
            other = next(ends, module)
            if other != module:
                level = next(n for n, (a, b) in enumerate(zip(module, other, strict=False)) if a != b) + 1
                joined.setdefault(module[:level], set()).add(other[:level])
    reached = {part: _reached(part, joined) for part in joined}
    return sorted(
        "/".join(part)
        for part in joined
        if any(part in reached.get(other, ()) and not {part, other} <= files.keys() for other in reached[part])
    )


def _reached(part: Name, joined: dict[Name, set[Name]]) -> set[Name]:
    found: set[Name] = set()
    ahead = [part]
    while ahead:
        new = joined.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


@pytest.mark.slow
def test_folders_import_each_other_in_no_circle() -> None:
    assert len(modules(ROOT, FOLDERS)) > 100
    assert circles(ROOT) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a/x.py": "from ..b import y", "b/y.py": "from ..a import x"}, ["p/a", "p/b"]),
        (
            {"a/x.py": "import p.b.y", "b/y.py": "def f():\n    from ..c import C", "c.py": "import p.a"},
            ["p/a", "p/b", "p/c"],
        ),
        ({"a/x.py": "from ..b import y", "b/y.py": "from ..c import C", "c.py": ""}, []),
        ({"a/x.py": "from ..c import C", "c.py": "", "d.py": "from .a import x"}, []),
        ({"x.py": "from . import y", "y.py": "from . import x"}, []),
        ({"a/x.py": "from .. import b", "b/__init__.py": "from p.a.x import z"}, ["p/a", "p/b"]),
    ],
    ids=["two", "three", "chain", "parents", "files only", "packages"],
)
def test_a_circle_is_found(files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()

    assert circles(tmp_path, ("p",)) == expected
