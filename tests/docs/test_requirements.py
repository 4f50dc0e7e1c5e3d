"""The requirement files are what `make lock` writes from pyproject.toml."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROGRAM: list[str] = PYPROJECT["project"]["dependencies"]

ENTRY = re.compile(
    r"(\S+==\S+(?: ; .+?)?)(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n    # via(?:( .*\n)|\n((?:    #   .+\n)+))"
)


def group(name: str) -> list[str]:
    """Return the dependencies of a group, with those of the groups that it includes."""
    entries: list[str | dict[str, str]] = PYPROJECT["dependency-groups"][name]
    parts = ([entry] if isinstance(entry, str) else group(entry["include-group"]) for entry in entries)
    return [each for part in parts for each in part]


FILES = {
    "requirements.txt": PROGRAM,
    "requirements-local.txt": [*PROGRAM, *group("local")],
    "requirements-dev.txt": [*PROGRAM, *group("dev")],
    "proof/bench/requirements.txt": group("bench"),
    "tests/client/requirements-uwsgi.txt": group("uwsgi"),
    "docs/site/requirements.txt": [*PROGRAM, *group("site")],
}
"""File → the direct dependencies that it has to pin."""


def pins(file: str) -> dict[str, tuple[Requirement, set[str]]]:
    """Return each package of a file by name: what is pinned, and what it is needed by."""
    found = (
        (Requirement(entry[1]), re.findall(r"[ #]+(\S.*)", entry[2] or entry[3]))
        for entry in ENTRY.finditer(body(file))
    )
    return {
        canonicalize_name(pinned.name): (pinned, {canonicalize_name(re.split(r"[\[ ]", name)[0]) for name in via})
        for pinned, via in found
    }


def body(file: str) -> str:
    """Return the text of a file below its heading."""
    return re.sub(r"\A(#.*\n)+", "", (ROOT / file).read_text())


@pytest.mark.parametrize("file", FILES)
def test_every_pin_is_exact_with_hashes_and_a_reason(file: str) -> None:
    found = pins(file)

    assert ENTRY.sub("", body(file)) == "", "and no index either"
    assert "://" not in body(file)
    for name, (_, via) in found.items():
        assert via & {"global-integers", *found}, f"nothing needs {name}"


@pytest.mark.parametrize("file", FILES)
def test_the_direct_dependencies_are_those_of_pyproject(file: str) -> None:
    found = pins(file)
    wanted = [Requirement(text) for text in FILES[file]]

    direct = {name for name, (_, via) in found.items() if "global-integers" in via}
    assert direct == {canonicalize_name(each.name) for each in wanted}
    for each in wanted:
        (version,) = found[canonicalize_name(each.name)][0].specifier
        assert each.specifier.contains(version.version), each


@pytest.mark.parametrize(("smaller", "larger"), [("", "-local"), ("-local", "-dev")])
def test_a_file_keeps_the_versions_of_the_one_it_adds_to(smaller: str, larger: str) -> None:
    added_to = pins(f"requirements{larger}.txt")

    for name, (pinned, _) in pins(f"requirements{smaller}.txt").items():
        assert added_to[name][0].specifier == pinned.specifier, name
