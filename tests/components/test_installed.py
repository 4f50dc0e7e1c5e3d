"""Another Pulumi program installs the project, and runs the five lines of the documentation, and tests of its own."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from components import testing
from components.function import archived, version
from local.paths import ROOT

ARCHIVES = """
def test_archives():
    assets = [asset for each in aws.resources if "code" in each.inputs for asset in each.inputs["code"].assets.values()]
    print(sorted({asset.path for asset in assets if hasattr(asset, "path")}))
    print(sorted({asset.text for asset in assets if hasattr(asset, "text")}))
"""


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built packages, the component and the client, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheels = folder / "wheels"
    sources = (ROOT, ROOT / "client")
    subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", wheels, *sources], check=True)
    built = sorted(wheels.iterdir())
    assert len(built) == 2
    subprocess.run([*pip, "install", "--no-deps", "--no-compile", "--target", folder / "site", *built], check=True)
    return folder / "site"


USERS_FILES = ("integers", "aws", "components", "coordinate", "mint", "names", "records")
"""Names that a user's own files may have."""


def test_what_is_installed_is_the_program_and_its_functions(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    own = {path.relative_to(installed).as_posix() for path in installed.rglob("*.*") if path.is_file()}
    sources: set[str] = set()
    for folder, at in {
        "components": "pulumi_global_integers/",
        "global_integers_core": "global_integers_core/",
        "lambda": "pulumi_global_integers/lambda/",
        "client/src/global_integers": "global_integers/",
    }.items():
        for path in (ROOT / folder).rglob("*"):
            # Pulumi runs the plugin in a checkout.
            if path.suffix in (".py", ".typed", ".html") and path.parent.name != "plugin":
                sources.add(f"{at}{path.relative_to(ROOT / folder).as_posix()}")

    assert packages == {"pulumi_global_integers", "global_integers_core", "global_integers", "bin"}
    assert {name for name in own if ".dist-info/" not in name} == sources


def pytest_in(folder: Path, installed: Path) -> str:
    """Run a user's tests with what is installed, and return what pytest prints."""
    environment = {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    (folder / "conftest.py").write_text("import asyncio\nasyncio.set_event_loop(None)  # as from Python 3.14 on\n")
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.long
def test_the_shops_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "python", tmp_path, dirs_exist_ok=True)

    assert re.search(r"^2 passed", pytest_in(tmp_path, installed), re.MULTILINE)


@pytest.mark.long
def test_the_five_lines_deploy_beside_a_users_own_files(installed: Path, tmp_path: Path) -> None:
    """Tested as the docstring of the mocks says."""
    for name in USERS_FILES:
        (tmp_path / f"{name}.py").write_text("raise AssertionError(f'{__file__} is imported')")
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## Use it in another Pulumi program")[2]
    (program,) = re.findall(r"```python\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)
    (tmp_path / "__main__.py").write_text(program)
    example = "\n".join(re.findall(r"^(?:    .*|)$", testing.__doc__ or "", re.MULTILINE))
    imports = "import asyncio\nimport runpy\nimport pulumi\nfrom pulumi_global_integers.testing import Mocks\n"
    (tmp_path / "test_it.py").write_text(imports + dedent(example) + ARCHIVES)

    printed = pytest_in(tmp_path, installed)

    assert re.search(r"^2 passed", printed, re.MULTILINE), printed
    files, versions = (ast.literal_eval(each) for each in re.findall(r"\[.*\]", printed)[:2])
    assert files
    assert all(file.startswith(str(installed)) for file in files)
    assert {*versions} == {
        f"{version(archived(*folders))}\n" for folders in (("mint", "aws_client"), ("coordinate", "aws_client"))
    }, "those of a checkout with the same files"
