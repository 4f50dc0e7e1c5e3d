"""What contributors and CI are told agrees with the project."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import global_integers
import pytest
import yaml

from local.paths import ROOT
from tests.docs.pages import page

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = {path.stem: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def test_the_version_is_the_same_everywhere() -> None:
    headings = re.findall(r"^## \[(.+?)\]", page("../CHANGELOG.md"), re.MULTILINE)
    npm = json.loads((ROOT / "client" / "typescript" / "package.json").read_text())

    assert headings[0] == PYPROJECT["project"]["version"] == global_integers.__version__ == npm["version"]
    for file in ("examples/template/requirements.txt", "components/plugin/README.md", "docs/architecture.md"):
        assert {*re.findall(r"@v?(\d+\.\d+\.\d+)", (ROOT / file).read_text())} == {headings[0]}, file
    assert f'"version": "{headings[0]}+' in page("api.md")


def test_the_hooks_run_the_commands_of_lint_and_types() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = {hook["entry"].removesuffix(" --force-exclude") for hook in repository["hooks"]}
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    recipes = re.findall(r"^(?:lint|types):.*\n((?:\t.*\n)*)", makefile, re.MULTILINE)

    assert hooks == {line.strip().removesuffix(" .") for recipe in recipes for line in recipe.splitlines()}


def test_ci_runs_every_supported_python() -> None:
    oldest, *_ = yaml.safe_load(WORKFLOWS["test"])["jobs"]["test"]["strategy"]["matrix"]["python"]

    assert PYPROJECT["project"]["requires-python"] == f">={oldest}"


@pytest.mark.parametrize(("repository", "status"), [("https://git.example/us/it", 0), ("", 1)])
def test_nothing_is_published_without_a_repository(repository: str, status: int, tmp_path: Path) -> None:
    _, refuse, make, publish, to_npm, _ = yaml.safe_load(WORKFLOWS["release"])["jobs"]["release"]["steps"]
    (tmp_path / "pyproject.toml").write_text(f'[tool.global-integers]\nrepository = "{repository}"\n')
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-e", "-c", refuse["run"]], cwd=tmp_path, env={"PATH": path}, capture_output=True)

    assert done.returncode == status
    assert b"nothing is published: in pyproject.toml" in done.stderr or status == 0
    assert make["run"] == "make release", "it fails unless the tag is the version's"
    assert "uv publish" in publish["run"]
    assert "npm@11 publish --provenance" in to_npm["run"]
    assert "repository" in PYPROJECT["tool"]["global-integers"]


def test_actions_are_pinned() -> None:
    texts = [*WORKFLOWS.values(), *(path.read_text() for path in (ROOT / "examples" / "github").glob("*.yml"))]
    used = [action for text in texts for action in re.findall(r"uses: (\S+)", text)]

    assert [action for action in used if not re.search(r"@[0-9a-f]{40}$", action)] == []
