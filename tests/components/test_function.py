"""How the functions run, and their archives: complete, with their version, the same every time."""

import tomllib
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml

from components.function import VERSION, archive, version, version_in
from local.paths import ROOT
from tests.components.aws_answers import ALARM, FUNCTION, LOG_GROUP, POLICY
from tests.components.recording import Deployment, Registration
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


@pytest.mark.parametrize(
    ("days", "retained"), [(14, {"coordinate": 365, "mint": 14}), (731, {"coordinate": 731, "mint": 731})]
)
def test_the_coordinators_journal_is_there_for_a_year(days: int, retained: dict[str, int]) -> None:
    groups = deploy(config(HOME, logRetentionDays=days)).of(LOG_GROUP)

    assert {group.inputs["name"].rpartition("-")[2]: group.inputs["retentionInDays"] for group in groups} == retained


@pytest.mark.parametrize(
    ("chosen", "concurrency", "most"),
    [
        ({}, -1, 100_000),
        ({"reservedConcurrency": 7, "maxBlock": 7}, 7, 7),
        ({"authorization": "NONE"}, 10, 100),
        ({"authorization": "NONE", "reservedConcurrency": -1, "maxBlock": 100_000}, -1, 100_000),
    ],
)
def test_strangers_get_a_limit_and_small_blocks(chosen: dict[str, Any], concurrency: int, most: int) -> None:
    found = settings(config(HOME, **chosen))

    assert (found.reserved_concurrency, found.max_block) == (concurrency, most)


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


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a function `greet`, and other files in its folder."""
    files = [
        *(f"lambda/greet/{name}" for name in ("__init__.py", "handler.py", "page.html", "notes.md", "settings.json")),
        *("lambda/greet/handler.pyc", "lambda/greet/__pycache__/handler.cpython-314.pyc"),
        *("lambda/greet/tests/test_handler.py", "lambda/other/handler.py", "lambda/shared/__init__.py"),
        *("global_integers_core/names.py", "global_integers_core/__pycache__/names.cpython-314.pyc"),
        "components/settings/__init__.py",
    ]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    for name, folder in {"ROOT": "", "FUNCTIONS": "lambda", "SHARED": "global_integers_core"}.items():
        monkeypatch.setattr(f"components.function.{name}", tmp_path / folder)
    return tmp_path


def contents(made: pulumi.AssetArchive) -> dict[str, str]:
    """The source files of an archive by their names in it."""
    assets = cast("dict[str, pulumi.FileAsset]", made.assets)
    return {name: Path(asset.path).read_text() for name, asset in assets.items() if name != VERSION}


@pytest.mark.usefixtures("repository")
def test_an_archive_has_its_folder_integers_and_what_it_shares() -> None:
    made = contents(archive("greet"))

    assert [*made] == ["greet/__init__.py", "greet/handler.py", "greet/page.html", "global_integers_core/names.py"]
    assert made["greet/handler.py"] == "# lambda/greet/handler.py\n"
    assert set(contents(archive("greet", "shared"))) == {*made, "shared/__init__.py"}
    with pytest.raises(FileNotFoundError, match=r"lambda/missing has no \.py files"):
        archive("missing")


def test_a_version_tells_every_change_of_a_file(repository: Path) -> None:
    def made() -> str:
        code = archive("greet")
        assert cast("dict[str, pulumi.StringAsset]", code.assets)[VERSION].text == f"{version_in(code)}\n"
        return version_in(code)

    before = made()
    assert made() == before != version_in(archive("greet", "shared"))
    source = repository / "lambda/greet/handler.py"
    source.write_text("# changed\n")
    changed = made()
    source.rename(source.with_name("renamed.py"))

    assert len({before, changed, made()}) == 3
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {text.partition("+")[0] for text in (before, changed)} == {number}


def test_a_version_is_the_same_on_every_machine(tmp_path: Path) -> None:
    for name in "ba":
        (tmp_path / name).write_text(name)

    # sha256 of "greet/a.py <sha256 of a>\ngreet/b.py <sha256 of b>\n", by sha256sum
    for names in ("ab", "ba"):
        assert version({f"greet/{name}.py": tmp_path / name for name in names}).partition("+")[2] == "08e4977c8772"
