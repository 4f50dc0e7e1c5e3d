"""What contributors and CI are told agrees with the project."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def recipe(target: str) -> str:
    """Return the commands of a target of the Makefile."""
    match = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    assert match, target
    return match[1].replace("$(BIN)", ".venv/bin")


def test_the_version_is_the_same_everywhere() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    client = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())

    assert headings[0] == PYPROJECT["project"]["version"] == client["project"]["version"]
    for page in ("examples/template/requirements.txt", "components/plugin/README.md", "docs/architecture.md"):
        assert set(re.findall(r"@v?(\d+\.\d+\.\d+)", (ROOT / page).read_text())) == {headings[0]}, page
    assert f'"version": "{headings[0]}+' in (ROOT / "docs" / "api.md").read_text()


def test_the_hooks_run_the_commands_of_lint_and_types() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = {hook["entry"].removesuffix(" --force-exclude") for hook in repository["hooks"]}
    commands = {line.strip().removesuffix(" .") for line in (recipe("lint") + recipe("types")).splitlines()}

    assert hooks == commands


def test_ci_runs_every_supported_python() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    job = yaml.safe_load(workflow)["jobs"]["test"]

    assert job["strategy"]["matrix"]["python"][0] == PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert job["steps"][-1] == {"run": "make test"}


def test_a_release_is_checked_before_it_is_published() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["release"]["steps"]]

    assert steps.index("make release") == 2, "it fails unless the tag is the version's"
    assert "uv publish --trusted-publishing always" in steps[3]
    assert recipe("release").strip() == "@.venv/bin/python -m tools.release"


def test_nothing_is_published_without_a_repository(tmp_path: Path) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    refuse: str = workflow["jobs"]["release"]["steps"][1]["run"]

    def publish(repository: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "pyproject.toml").write_text(f'[tool.global-integers]\nrepository = "{repository}"\n')
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        command = ["bash", "-e", "-c", refuse]
        return subprocess.run(command, cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True)

    assert publish("https://git.example/us/it").returncode == 0
    refused = publish("")
    assert refused.returncode == 1
    assert refused.stderr.startswith("nothing is published: in pyproject.toml, `repository` of [tool")
    assert "repository" in PYPROJECT["tool"]["global-integers"]


def test_actions_are_pinned() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for action in re.findall(r"uses: (\S+)", path.read_text()):
            assert re.search(r"@[0-9a-f]{40}$", action), action
