"""How the functions run, and their archives: complete, with their version, the same every time."""

import tomllib
from pathlib import Path
from typing import cast

import pulumi
import pytest
import yaml

from components.function import version
from local.paths import ROOT
from tests.components.aws_answers import ALARM, FUNCTION, INVOCATION, LOG_GROUP, POLICY, ROLE
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, settings


@pytest.fixture(scope="module")
def functions(signed: Deployment) -> list[Registration]:
    return signed.of(FUNCTION)


def test_functions_run_on_the_newest_python_that_is_tested(functions: list[Registration]) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())

    newest = workflow["jobs"]["test"]["strategy"]["matrix"]["python"][-1]
    assert {function.inputs["runtime"] for function in functions} == {f"python{newest}"}


def test_a_function_is_made_once_its_role_may_do_all(signed: Deployment, functions: list[Registration]) -> None:
    for function in functions:
        role = function.inputs["role"].rpartition("/")[2]
        assert signed.one(POLICY, role=role, name="next").urn in function.dependencies


def test_a_recreated_role_publishes_and_checks_a_version(signed: Deployment) -> None:
    """With the name and the ARN of the former one: a grant hangs on the id. Without one, no environment is read."""
    again = deploy(config(*THREE), aws=Aws(role_id="AROANEW"))
    runs, former = ({(run.name, run.inputs["input"]) for run in each.of(INVOCATION)} for each in (again, signed))

    assert len(runs) == 8
    assert {name for name, _ in runs & former} <= {again.reconcile().name}, "self, and each region's check and release"
    environments = [function.inputs["environment"] for function in again.of(FUNCTION)]
    assert len(environments) == 4
    assert not [each for each in environments if each in [one.inputs["environment"] for one in signed.of(FUNCTION)]]
    assert {role.inputs["name"] for role in again.of(ROLE)} == {role.inputs["name"] for role in signed.of(ROLE)}


def test_the_coordinators_journal_is_there_as_long_as_other_logs() -> None:
    """And for a year at least, as `registered` has it."""
    groups = deploy(config(HOME, logRetentionDays=731)).of(LOG_GROUP)

    assert [group.inputs["retentionInDays"] for group in groups] == [731, 731]


def test_strangers_get_no_limit_where_it_is_set_so() -> None:
    """What they get otherwise is in `registered`."""
    found = settings(config(HOME, authorization="NONE", reservedConcurrency=-1, maxBlock=100_000))

    assert (found.reserved_concurrency, found.max_block) == (-1, 100_000)


@pytest.mark.slow
def test_a_paused_region_runs_nothing_and_keeps_what_it_has(signed: Deployment) -> None:
    deployment = deploy(config(*THREE, paused=[THREE[1]], reservedConcurrency=7))

    concurrency = {
        (f.inputs["name"], f.inputs["region"]): f.inputs["reservedConcurrentExecutions"]
        for f in deployment.of(FUNCTION)
    }
    minting = {(f"{PREFIX}-mint", region): 0 if region == THREE[1] else 7 for region in THREE}
    assert concurrency == {(f"{PREFIX}-coordinate", HOME): -1, **minting}
    gone = {(r.type, r.name) for r in signed.resources} - {(r.type, r.name) for r in deployment.resources}
    assert {kind for kind, _ in gone} == {ALARM, "global-integers:index:RegionalObservability"}, "nobody is to be woken"
    assert all(f"-{THREE[1]}" in name for _, name in gone)
    assert deployment.outputs["layout"] == signed.outputs["layout"]


def test_an_archive_has_code_pages_and_the_version_only(functions: list[Registration], tmp_path: Path) -> None:
    for function in functions:
        unpack(function, tmp_path)

    others = {path.name for path in tmp_path.rglob("*") if path.suffix != ".py" and path.is_file()}
    assert others == {"document.html", "head.html", "page.html", "version.txt"}


def unpack(function: Registration, target: Path) -> None:
    code = cast("pulumi.AssetArchive", function.inputs["code"])
    for name, asset in cast("dict[str, pulumi.FileAsset | pulumi.StringAsset]", code.assets).items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            asset.text.encode() if isinstance(asset, pulumi.StringAsset) else Path(asset.path).read_bytes()
        )


def test_a_version_tells_every_change_on_every_machine(tmp_path: Path) -> None:
    def made(*names: str) -> str:
        return version({f"greet/{name}.py": tmp_path / name for name in names})

    for name in "bac":
        (tmp_path / name).write_text(name)
    before, renamed = made("a", "b"), made("a", "c")
    assert made("b", "a") == before
    # sha256 of "greet/a.py <sha256 of a>\ngreet/b.py <sha256 of b>\n", by sha256sum
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert before == f"{number}+08e4977c8772"
    (tmp_path / "a").write_text("changed")

    assert len({before, renamed, made("a", "b")}) == 3
