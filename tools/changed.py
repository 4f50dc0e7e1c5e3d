"""Lint, types and the quick tests that changed files reach: `python -m tools.changed`, or `make check CHANGED=1`.

Changed is what differs from the last commit, or from another one: `CHANGED=main`. A test reaches a file that it
imports, also by way of others. What nothing imports is reached by what mentions a module's dotted name, or a file's.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("client/src", "components", "examples", "global_integers_core", "lambda", "local", "proof", "tests", "tools")

QUICK = "not server and not slow and not long"

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


def changed(since: str) -> list[Path]:
    """Return the files that differ from a commit, and those that git doesn't know."""
    said = ""
    for command in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        said += subprocess.run(["git", "-C", str(ROOT), *command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [ROOT / name for name in said.splitlines()]


def reaching(root: Path, changes: Sequence[Path], folders: tuple[str, ...] = FOLDERS) -> set[Path]:
    """Return the files that reach these: that import them or mention them, and that import such a file."""
    files = modules(root, folders)
    texts = {path: path.read_text(encoding="utf-8") for path in files.values()}
    importers: dict[Path, set[Path]] = {}
    for module, path in files.items():
        named = [*imported(module, path, files)]
        packages = [(*name[:length], "__init__") for name in [module, *named] for length in range(1, len(name))]
        for other in {files[each] for each in (*named, *packages) if each in files} - {path}:
            importers.setdefault(other, set()).add(path)
    mentions = {path: ".".join(module) for module, path in files.items()}
    # What a conftest.py imports is most of the project: only its own change reaches the tests below it.
    below = [each for path in changes if path.name == "conftest.py" for each in path.parent.rglob("*.py")]
    found, ahead = set[Path](), [*changes, *below]
    while ahead:
        path = ahead.pop()
        if path in found:
            continue
        found.add(path)
        ahead += importers.get(path, ())
        if path not in importers:  # a plugin, a program or a page
            mention = mentions.get(path, path.name)
            ahead += [each for each, text in texts.items() if mention in text]
    return found


def main() -> None:
    """Check what has changed, and exit with the status of the first check that fails."""
    (since,) = sys.argv[1:] or ["HEAD"]
    changes = changed(since if since != "1" else "HEAD")
    reached = reaching(ROOT, changes)
    code = [str(path) for path in changes if path.suffix == ".py" and path.exists()]
    tests = sorted(str(path) for path in reached if path.name.startswith("test_") and path.exists())
    print(f"{len(changes)} files changed, which {len(tests)} files of tests reach", flush=True)
    commands = [["ruff", "check", *code], ["ruff", "format", "--check", *code], ["basedpyright", *code]] if code else []
    commands += [["pytest", "-q", "-n2", "-p", "no:schemathesis", "-m", QUICK, *tests]] if tests else []
    for program, *arguments in commands:
        status = subprocess.run([sys.executable, "-m", program, *arguments], cwd=ROOT, check=False).returncode
        if status not in (0, 5 if program == "pytest" else 0):  # 5: none of these tests is quick
            sys.exit(status)


if __name__ == "__main__":
    main()
