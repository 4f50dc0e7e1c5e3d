"""How the functions run, and their archives: complete, with their version, the same every time."""

import logging
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml

from components.function import VERSION, archive, version, version_in
from local.paths import ROOT
from tests.components.aws_answers import ALARM, FUNCTION, LOG_GROUP, POLICY, ROLE
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, settings


@pytest.fixture(scope="module")
def functions(signed: Deployment) -> list[Registration]:
    found = signed.of(FUNCTION)
    assert sorted(f.inputs["name"] for f in found) == [f"{PREFIX}-coordinate", *[f"{PREFIX}-mint"] * 3]
    return found


def test_every_function_runs_on_arm_on_the_newest_python(functions: list[Registration]) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    newest = workflow["jobs"]["test"]["strategy"]["matrix"]["python"][-1]

    assert {(f.inputs["runtime"], *f.inputs["architectures"]) for f in functions} == {(f"python{newest}", "arm64")}


def test_a_successful_mint_writes_no_log_line(functions: list[Registration]) -> None:
    """Start, end and report lines are of the system's level INFO, which only JSON logs can leave out."""
    for function in functions:
        assert function.inputs["loggingConfig"]["logFormat"] == "JSON"
        assert function.inputs["loggingConfig"]["systemLogLevel"] == "WARN"


UNCAUGHT: Any = {"log_level": "ERROR", "errorType": "Runtime.ImportModuleError", "errorMessage": "no module"}
"""A line as earlier runtime clients write it."""


def keeps(level: str, line: Mapping[str, Any]) -> bool:
    """Return whether Lambda keeps a line. One without a level counts as INFO (guide, "Advanced logging controls")."""
    levels = logging.getLevelNamesMapping()
    return levels[line.get("level", "INFO")] >= levels[level]


def test_errors_are_logged_whatever_the_runtime_client_calls_the_level(functions: list[Registration]) -> None:
    for function in functions:
        level = function.inputs["loggingConfig"]["applicationLogLevel"]
        assert keeps(level, UNCAUGHT)
        assert not keeps(level, {"level": "DEBUG"})


def test_a_function_logs_to_the_group_that_the_program_made(signed: Deployment, functions: list[Registration]) -> None:
    for function in functions:
        name = function.inputs["loggingConfig"]["logGroup"]
        signed.one(LOG_GROUP, name=name, region=function.inputs["region"])


def test_a_function_is_made_once_its_role_may_do_all(signed: Deployment, functions: list[Registration]) -> None:
    for function in functions:
        role = next(r for r in signed.of(ROLE) if function.inputs["role"].endswith(f"/{r.inputs['name']}"))

        assert signed.one(POLICY, role=role.inputs["name"], name="next").urn in function.dependencies


def test_the_coordinators_journal_is_kept_for_a_year(signed: Deployment) -> None:
    deployment = deploy(
        config(HOME, logRetentionDays=731, counters=["a", "orders"], defaultCounter="orders", reservedConcurrency=7)
    )

    assert (retention(signed, "coordinate"), retention(signed, "mint")) == ({365}, {14})
    assert (retention(deployment, "coordinate"), retention(deployment, "mint")) == ({731}, {731})
    mint = deployment.one(FUNCTION, name=f"{PREFIX}-mint").inputs
    assert mint["environment"]["variables"]["DEFAULT_COUNTER"] == "orders"
    assert mint["reservedConcurrentExecutions"] == 7
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate").inputs
    assert coordinate["reservedConcurrentExecutions"] == -1


def retention(deployment: Deployment, function: str) -> set[int]:
    groups = [group for group in deployment.of(LOG_GROUP) if group.inputs["name"].endswith(f"-{function}")]
    return {group.inputs["retentionInDays"] for group in groups}


def test_concurrency_is_not_reserved_unless_asked_for(functions: list[Registration]) -> None:
    """−1 is AWS's "no reservation"; 0 would let nothing run at all."""
    assert {function.inputs["reservedConcurrentExecutions"] for function in functions} == {-1}


@pytest.mark.parametrize(
    ("concurrency", "limit"), [({}, 10), ({"reservedConcurrency": 7}, 7), ({"reservedConcurrency": -1}, -1)]
)
def test_a_public_function_has_a_limit(concurrency: dict[str, Any], limit: int) -> None:
    assert settings(config(HOME, authorization="NONE", **concurrency)).reserved_concurrency == limit


@pytest.mark.parametrize(
    ("chosen", "most"),
    [
        ({}, 100_000),
        ({"maxBlock": 7}, 7),
        ({"authorization": "NONE"}, 100),
        ({"authorization": "NONE", "maxBlock": 100_000}, 100_000),
    ],
)
def test_strangers_get_small_blocks(chosen: dict[str, Any], most: int) -> None:
    assert settings(config(HOME, **chosen)).max_block == most


@pytest.mark.slow
def test_a_paused_region_runs_nothing_and_keeps_what_it_has(signed: Deployment) -> None:
    deployment = deploy(config(*THREE, paused=[THREE[1]], reservedConcurrency=7))

    assert concurrency(deployment) == {THREE[0]: 7, THREE[1]: 0, THREE[2]: 7}
    gone = {(r.type, r.name) for r in signed.resources} - {(r.type, r.name) for r in deployment.resources}
    assert {kind for kind, _ in gone} == {ALARM, "global-integers:index:RegionalObservability"}, "nobody is to be woken"
    assert all(f"-{THREE[1]}" in name for _, name in gone)
    assert deployment.outputs["layout"] == signed.outputs["layout"]


def concurrency(deployment: Deployment) -> dict[str, int]:
    """Return region → the limit on concurrent executions of its minting function."""
    minting = [f for f in deployment.of(FUNCTION) if f.inputs["name"].endswith("-mint")]
    return {f.inputs["region"]: f.inputs["reservedConcurrentExecutions"] for f in minting}


@pytest.mark.slow
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


def said(made: pulumi.AssetArchive) -> str:
    """The version that an archive says it is."""
    return cast("dict[str, pulumi.StringAsset]", made.assets)[VERSION].text


@pytest.mark.usefixtures("repository")
def test_an_archive_has_its_folder_integers_and_what_it_shares() -> None:
    made = contents(archive("greet"))

    assert {*made} == {"greet/__init__.py", "greet/handler.py", "greet/page.html", "global_integers_core/names.py"}
    assert made["greet/handler.py"] == "# lambda/greet/handler.py\n"
    assert set(contents(archive("greet", "shared"))) == {*made, "shared/__init__.py"}


@pytest.mark.usefixtures("repository")
def test_an_archive_is_the_same_in_any_order_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.rglob
    made: list[list[tuple[str, str]]] = []
    for backwards in (False, True):

        def rglob(path: Path, pattern: str, backwards: bool = backwards) -> list[Path]:
            return sorted(listed(path, pattern), reverse=backwards)

        monkeypatch.setattr(Path, "rglob", rglob)
        made.append(list(contents(archive("greet", "shared")).items()))

    assert made[0] == made[1]


def test_a_version_tells_every_change_of_a_file(repository: Path) -> None:
    before = said(archive("greet"))
    assert said(archive("greet")) == before
    assert version_in(archive("greet")) == before.strip(), "which a check expects"
    assert said(archive("greet", "shared")) != before

    source = repository / "lambda/greet/handler.py"
    source.write_text("# changed\n")
    changed = said(archive("greet"))
    source.rename(source.with_name("renamed.py"))
    renamed = said(archive("greet"))

    assert len({before, changed, renamed}) == 3
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {text.partition("+")[0] for text in (before, changed, renamed)} == {number}


def test_a_version_is_the_same_on_every_machine(tmp_path: Path) -> None:
    names = {"greet/b.py": "b", "greet/a.py": "a"}
    for number, order in enumerate((names, dict(reversed(names.items())))):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = {name: folder / text for name, text in order.items()}
        for name, text in order.items():
            files[name].write_text(text)

        # sha256 of "greet/a.py <sha256 of a>\ngreet/b.py <sha256 of b>\n", by sha256sum
        assert version(files).partition("+")[2] == "08e4977c8772"


@pytest.mark.usefixtures("repository")
def test_a_function_without_files_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match=r"lambda/missing has no \.py files"):
        archive("missing")
