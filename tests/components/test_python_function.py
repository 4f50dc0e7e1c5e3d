"""How the functions run, and that what they run from is complete."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml

from local.paths import ROOT
from tests.components.aws_answers import ALARM, FUNCTION, INVOCATION, LOG_GROUP, POLICY, ROLE
from tests.components.recording import Deployment, Registration
from tests.components.running import PREFIX, THREE, config, deploy


@pytest.fixture(scope="module")
def functions(signed: Deployment) -> list[Registration]:
    found = signed.of(FUNCTION)
    assert sorted(f.inputs["name"] for f in found) == [f"{PREFIX}-coordinate", *[f"{PREFIX}-mint"] * 3]
    return found


def test_every_function_runs_on_arm_on_the_newest_python_that_the_tests_run_on(functions: list[Registration]) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    newest = workflow["jobs"]["test"]["strategy"]["matrix"]["python"][-1]

    assert {(f.inputs["runtime"], *f.inputs["architectures"]) for f in functions} == {(f"python{newest}", "arm64")}


def test_a_successful_mint_writes_no_log_line(functions: list[Registration]) -> None:
    """Start, end and report lines are of the system's level INFO, which only JSON logs can leave out."""
    for function in functions:
        assert function.inputs["loggingConfig"]["logFormat"] == "JSON"
        assert function.inputs["loggingConfig"]["systemLogLevel"] == "WARN"


def test_errors_of_the_minting_function_are_logged(signed: Deployment) -> None:
    for function in signed.of(FUNCTION):
        if function.inputs["name"] == f"{PREFIX}-mint":
            assert function.inputs["loggingConfig"]["applicationLogLevel"] == "WARN"


def test_a_function_logs_to_the_group_that_the_program_made(signed: Deployment, functions: list[Registration]) -> None:
    for function in functions:
        name = function.inputs["loggingConfig"]["logGroup"]
        signed.one(LOG_GROUP, name=name, region=function.inputs["region"])


def test_a_function_is_made_only_once_its_role_may_do_what_it_needs(
    signed: Deployment, functions: list[Registration]
) -> None:
    for function in functions:
        role = next(r for r in signed.of(ROLE) if function.inputs["role"].endswith(f"/{r.inputs['name']}"))

        assert signed.one(POLICY, role=role.inputs["name"]).urn in function.dependencies


def test_logs_are_kept_for_two_weeks_unless_told_otherwise(signed: Deployment) -> None:
    assert retention(signed, "mint") == {14}


@pytest.mark.parametrize(("given", "kept"), [(1, 365), (365, 365), (731, 731)])
def test_the_journal_of_the_coordinator_is_kept_for_at_least_a_year(given: int, kept: int) -> None:
    deployment = deploy(config(*THREE, logRetentionDays=given))

    assert retention(deployment, "coordinate") == {kept}
    assert retention(deployment, "mint") == {given}


def retention(deployment: Deployment, function: str) -> set[int]:
    groups = [group for group in deployment.of(LOG_GROUP) if group.inputs["name"].endswith(f"-{function}")]
    return {group.inputs["retentionInDays"] for group in groups}


def test_the_settings_of_the_functions_are_followed() -> None:
    deployment = deploy(
        config(*THREE, counters=["orders", "a"], memorySize=512, logRetentionDays=30, reservedConcurrency=7)
    )

    assert retention(deployment, "mint") == {30}
    for region in THREE:
        mint = deployment.one(FUNCTION, name=f"{PREFIX}-mint", region=region)
        assert mint.inputs["memorySize"] == 512
        assert mint.inputs["reservedConcurrentExecutions"] == 7
        assert mint.inputs["environment"]["variables"]["DEFAULT_COUNTER"] == "orders"
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate")
    assert coordinate.inputs["reservedConcurrentExecutions"] == -1


def test_concurrency_is_not_reserved_unless_asked_for(functions: list[Registration]) -> None:
    """−1 is AWS's "no reservation"; 0 would let nothing run at all."""
    assert {function.inputs["reservedConcurrentExecutions"] for function in functions} == {-1}


@pytest.mark.parametrize(
    ("given", "limit"), [({}, 10), ({"reservedConcurrency": 7}, 7), ({"reservedConcurrency": -1}, -1)]
)
def test_a_public_function_has_a_limit_unless_none_is_wanted(given: dict[str, Any], limit: int) -> None:
    deployment = deploy(config(*THREE, authorization="NONE", **given))

    assert concurrency(deployment) == dict.fromkeys(THREE, limit)


def test_a_paused_region_runs_nothing_and_keeps_all_that_it_has(signed: Deployment) -> None:
    deployment = deploy(config(*THREE, paused=[THREE[1]], reservedConcurrency=7))

    assert concurrency(deployment) == {THREE[0]: 7, THREE[1]: 0, THREE[2]: 7}
    gone = {(r.type, r.name) for r in signed.resources} - {(r.type, r.name) for r in deployment.resources}
    assert {kind for kind, _ in gone} == {ALARM, INVOCATION}, "nobody is to be woken, and nothing to be checked"
    assert all(f"-{THREE[1]}" in name for _, name in gone)
    assert deployment.outputs["layout"] == signed.outputs["layout"]


def concurrency(deployment: Deployment) -> dict[str, int]:
    """Return region → the limit on concurrent executions of its minting function."""
    minting = [f for f in deployment.of(FUNCTION) if f.inputs["name"].endswith("-mint")]
    return {f.inputs["region"]: f.inputs["reservedConcurrentExecutions"] for f in minting}


@pytest.mark.parametrize("name", ["mint", "coordinate"])
def test_a_function_starts_from_its_archive_alone(functions: list[Registration], name: str, tmp_path: Path) -> None:
    function = next(f for f in functions if f.inputs["name"] == f"{PREFIX}-{name}")
    unpack(function, tmp_path)
    module, _, attribute = cast("str", function.inputs["handler"]).rpartition(".")
    environment: dict[str, Any] = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "PYTHON"))},
        **function.inputs["environment"]["variables"],
        "AWS_REGION": function.inputs["region"],
        "AWS_DEFAULT_REGION": function.inputs["region"],
    }

    started = subprocess.run(
        [sys.executable, "-B", "-c", f"import {module} as m; assert callable(m.{attribute}); print(m.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.stderr == ""
    assert Path(started.stdout.strip()).is_relative_to(tmp_path)


def test_no_archive_has_anything_but_python_files_the_pages_and_the_version(
    functions: list[Registration], tmp_path: Path
) -> None:
    for function in functions:
        unpack(function, tmp_path)

    assert {path.name for path in tmp_path.rglob("*") if path.suffix != ".py" and path.is_file()} == {
        "page.html",
        "status.html",
        "version.txt",
    }


def unpack(function: Registration, target: Path) -> None:
    code = cast("pulumi.AssetArchive", function.inputs["code"])
    for name, asset in cast("dict[str, pulumi.FileAsset | pulumi.StringAsset]", code.assets).items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            asset.text.encode() if isinstance(asset, pulumi.StringAsset) else Path(asset.path).read_bytes()
        )
