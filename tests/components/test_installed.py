"""Another Pulumi program installs the project, and runs the five lines of the documentation, and tests of its own."""

import json
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

RUN = """
import json, sys
sys.path.append(sys.argv[1])  # for the stand-in below; the user's files and what is installed come first
from global_integers import Integers
from local.engine.program import run_program

class Aws:
    files, versions = set(), set()
    def create(self, resource):
        for asset in resource.inputs["code"].assets.values() if "code" in resource.inputs else ():
            self.files |= {asset.path} if hasattr(asset, "path") else set()
            self.versions |= {asset.text} if hasattr(asset, "text") else set()
        arn = f"arn:aws:x:{resource.inputs.get('region', '')}:123456789012:y"
        computed = {"arn": arn, "result": '{"counters": {}}', "streamLabel": "", "functionUrl": "https://x/"}
        computed["output"] = resource.inputs.get("input")
        return resource.name, {**resource.inputs, **computed}
    def call(self, token, arguments):
        raise ValueError("empty result")

aws = Aws()
with open(sys.argv[2]) as file:
    code = compile(file.read(), "program", "exec")
outcome = run_program(aws, project="shop", stack="dev", config={}, program=lambda: exec(code, {}))
if outcome.error:
    raise outcome.error
print(json.dumps({"outputs": outcome.outputs, "files": sorted(aws.files), "versions": sorted(aws.versions)}))
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


@pytest.mark.long
def test_the_five_lines_deploy_beside_a_users_own_files(installed: Path, tmp_path: Path) -> None:
    for name in USERS_FILES:
        (tmp_path / f"{name}.py").write_text("raise AssertionError(f'{__file__} is imported')")
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## Use it in another Pulumi program")[2]
    (program,) = re.findall(r"```python\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)
    (tmp_path / "program.py").write_text(program)

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, ROOT, tmp_path / "program.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    outcome = json.loads(done.stdout)
    assert outcome["outputs"] == {"urls": {"us-east-1": "https://x/", "eu-west-1": "https://x/"}}
    assert outcome["files"]
    assert all(file.startswith(str(installed)) for file in outcome["files"])
    assert set(outcome["versions"]) == {
        f"{version(archived(*folders))}\n" for folders in (("mint", "aws_client"), ("coordinate", "aws_client"))
    }, "those of a checkout with the same files"


def test_what_is_installed_is_the_program_and_its_functions(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    own = {path.relative_to(installed).as_posix() for path in installed.rglob("*.*") if path.is_file()}
    sources = (
        {
            path.relative_to(ROOT).as_posix().replace("components/", "pulumi_global_integers/", 1)
            for folder in ("components", "global_integers_core")
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".typed") and path.parent.name != "plugin"  # Pulumi runs that in a checkout
        }
        | {
            f"pulumi_global_integers/{path.relative_to(ROOT).as_posix()}"
            for path in (ROOT / "lambda").rglob("*")
            if path.suffix in (".py", ".html")
        }
        | {
            path.relative_to(ROOT / "client" / "src").as_posix()
            for path in (ROOT / "client" / "src").rglob("*")
            if path.suffix in (".py", ".typed")
        }
    )

    assert packages == {"pulumi_global_integers", "global_integers_core", "global_integers", "bin"}
    assert {name for name in own if ".dist-info/" not in name} == sources


def pytest_in(folder: Path, installed: Path) -> str:
    """Run a user's tests with what is installed, and return what pytest prints."""
    environment = {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.long
def test_the_shops_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "python", tmp_path, dirs_exist_ok=True)

    assert re.search(r"^2 passed", pytest_in(tmp_path, installed), re.MULTILINE)


@pytest.mark.long
def test_the_example_of_the_mocks_passes(installed: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "python" / "__main__.py", tmp_path)
    for name in ("trust.json", "mint.json"):
        shutil.copy(ROOT / "examples" / "python" / name, tmp_path)
    example = "\n".join(re.findall(r"^(?:    .*|)$", testing.__doc__ or "", re.MULTILINE))
    imports = "import runpy\nimport pulumi\nfrom pulumi_global_integers.testing import Mocks\n"
    (tmp_path / "test_it.py").write_text(imports + dedent(example))

    assert re.search(r"^1 passed", pytest_in(tmp_path, installed), re.MULTILINE)
