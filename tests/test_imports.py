"""Folders import each other in one direction only, so each can be read, and changed, without those that use it."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from local.paths import ROOT
from tools.changed import Name, imported, modules, reaching

FOLDERS = ("client/src", "components", "global_integers_core", "lambda", "local", "proof", "tools")


@pytest.mark.slow
def test_folders_import_each_other_in_no_circle() -> None:
    """Only files of one folder may.

    An import joins two parts of the smallest folder that has both files: `local/engine/inputs.py` and `local/paths.py`
    make `local/engine` depend on `local/paths`.
    """
    files = modules(ROOT, FOLDERS)
    joined: dict[Name, set[Name]] = {}
    for module, path in files.items():
        for other in imported(module, path, files):
            level = next(n for n, (a, b) in enumerate(zip(module, other, strict=False)) if a != b) + 1
            joined.setdefault(module[:level], set()).add(other[:level])
    assert len(files) > 100
    while True:
        try:
            return TopologicalSorter(joined).prepare()
        except CycleError as error:
            circle: list[Name] = error.args[1]
            assert files.keys() >= {*circle}, circle
            joined[circle[1]].remove(circle[0])


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
