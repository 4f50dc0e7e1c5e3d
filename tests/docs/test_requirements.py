"""The requirement files are what `make lock` writes from pyproject.toml."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS: dict[str, list[str | dict[str, str]]] = PYPROJECT["dependency-groups"]
PROGRAM: list[str] = PYPROJECT["project"]["dependencies"]
FILES = (
    "requirements.txt",
    "requirements-local.txt",
    "requirements-dev.txt",
    "proof/bench/requirements.txt",
    "docs/site/requirements.txt",
)

ENTRY = re.compile(
    r"(?P<requirement>\S+==\S+(?: ; .+?)?)"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
    r"    # via(?P<via>(?: \S.*\n)|(?:\n(?:    #   .+\n)+))"
)


@dataclass(frozen=True)
class Pin:
    """One package of a requirement file."""

    version: str
    via: tuple[str, ...]

    @property
    def direct(self) -> bool:
        """Whether pyproject.toml names it."""
        return any(source.startswith("global-integers ") for source in self.via)


def group(name: str) -> list[str]:
    """The dependencies of a group, those of the groups that it includes among them."""
    found: list[str] = []
    for entry in GROUPS[name]:
        found += [entry] if isinstance(entry, str) else group(entry["include-group"])
    return found


def wanted(file: str) -> list[Requirement]:
    """The direct dependencies that a file has to pin."""
    lists = {
        "requirements.txt": PROGRAM,
        "requirements-local.txt": [*PROGRAM, *group("local")],
        "requirements-dev.txt": [*PROGRAM, *group("dev")],
        "proof/bench/requirements.txt": group("bench"),
        "docs/site/requirements.txt": [*PROGRAM, *group("site")],
    }
    return [Requirement(text) for text in lists[file]]


def body(file: str) -> str:
    """The text of a file below its heading."""
    lines = (ROOT / file).read_text().splitlines(keepends=True)
    return "".join(lines[next(number for number, line in enumerate(lines) if not line.startswith("#")) :])


def pins(file: str) -> dict[str, Pin]:
    """The packages of a file by name."""
    found: dict[str, Pin] = {}
    for match in ENTRY.finditer(body(file)):
        requirement = Requirement(match["requirement"])
        (version,) = requirement.specifier
        via = tuple(re.sub(r"^ *# *", "", line).strip() for line in match["via"].splitlines() if line.strip())
        found[canonicalize_name(requirement.name)] = Pin(version.version, via)
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_pin_is_exact_with_hashes_and_a_reason(file: str) -> None:
    assert ENTRY.sub("", body(file)) == "", "and no index either"
    assert "://" not in (ROOT / file).read_text()


@pytest.mark.parametrize("file", FILES)
def test_the_direct_dependencies_are_those_of_pyproject(file: str) -> None:
    found = pins(file)

    assert {name for name, pin in found.items() if pin.direct} == {canonicalize_name(r.name) for r in wanted(file)}
    for requirement in wanted(file):
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)].version), requirement


@pytest.mark.parametrize("file", FILES)
def test_a_transitive_dependency_is_needed_in_its_file(file: str) -> None:
    found = pins(file)

    for name, pin in found.items():
        sources = {canonicalize_name(source.partition("[")[0]) for source in pin.via if not source.startswith("-c ")}
        assert pin.direct or sources & found.keys(), name


def test_each_file_keeps_the_versions_of_the_one_that_it_adds_to() -> None:
    program, local, dev = (pins(file) for file in FILES[:3])

    for smaller, larger in ((program, local), (local, dev)):
        assert {name: pin.version for name, pin in smaller.items()}.items() <= {
            name: pin.version for name, pin in larger.items()
        }.items()
