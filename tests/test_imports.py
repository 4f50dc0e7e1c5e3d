"""Folders import each other in one direction only, so each can be read, and changed, without those that use it."""

from pathlib import Path

import pytest

from local.paths import ROOT
from tools.changed import Name, imported, modules, reaching

FOLDERS = ("client/src", "components", "global_integers_core", "lambda", "local", "proof", "tools")


def circles(root: Path, folders: tuple[str, ...] = FOLDERS) -> list[str]:
    """Return each part of a folder that imports itself by way of others, if one of them is a folder.

    The parts of a folder are its files and its folders. An import joins the two parts of the smallest folder that has
    both files: `local/engine/inputs.py` and `local/paths.py` make `local/engine` depend on `local/paths`.
    """
    files = modules(root, folders)
    joined: dict[Name, set[Name]] = {}
    for module, path in files.items():
        for other in imported(module, path, files):
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


def test_a_change_reaches_who_imports_it_and_who_mentions_it(tmp_path: Path) -> None:
    texts = {
        "a.py": "import p.b",
        "b.py": "TEXT = 'page.html'",
        "c.py": "",
        "conftest.py": "",
        "x/test_a.py": "from p.a import b",
        "x/test_c.py": "def f():\n    from .. import c",
        "page.html": "",
        "q/__init__.py": "",
        "q/d.py": "",
        "q/e.py": "",
        "x/test_d.py": "from p.q import d",
        "x/test_e.py": "pytest_plugins = ['p.q.e']",
    }
    for name, text in texts.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)

    def names(*changed: str) -> set[str]:
        found = reaching(tmp_path, [tmp_path / "p" / each for each in changed], ("p",))
        return {str(path.relative_to(tmp_path / "p")) for path in found}

    assert names("b.py") == {"a.py", "b.py", "x/test_a.py"}
    assert names("page.html") == {"page.html", *names("b.py")}
    assert names("c.py") == {"c.py", "x/test_c.py"}
    assert names("conftest.py") == {path for path in texts if path != "page.html"}
    assert names("q/__init__.py") == {"q/__init__.py", "q/d.py", "q/e.py", "x/test_d.py", "x/test_e.py"}
    assert names("q/d.py") == {"q/d.py", "x/test_d.py"}
    assert names("q/e.py") == {"q/e.py", "x/test_e.py"}
