"""The package is built and installed into a fresh environment, as callers get it."""

import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from zipfile import ZipFile

import pytest

from local.paths import ROOT
from tests.local.machine import Machine

CLIENT = ROOT / "client"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
    subprocess.run([sys.executable, "-m", "pip", *build, "--wheel-dir", folder, CLIENT], check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the package and its requirements, in the versions that the other tests use."""
    folder = tmp_path_factory.mktemp("fresh")
    pins = folder / "pins.txt"
    pins.write_text("".join(f"{found.name}=={found.version}\n" for found in distributions()))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = ["install", "--quiet", "--disable-pip-version-check", "--constraint", pins, wheel]
    subprocess.run([folder / "venv" / "bin" / "python", "-m", "pip", *install], check=True)
    return folder / "venv" / "bin"


def test_the_wheel_has_the_package_its_types_and_nothing_else(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    sources = {
        path.relative_to(CLIENT / "src").as_posix()
        for path in (CLIENT / "src").rglob("*")
        if path.suffix in (".py", ".typed")
    }

    assert names == sources
    assert "global_integers/py.typed" in names


@pytest.mark.server
@pytest.mark.long
def test_it_mints_from_a_fresh_environment(fresh: Path, stack: Machine, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs.json"
    outputs.write_text(stack.run("outputs", "--json").stdout)
    environment = {"GLOBAL_INTEGERS_URLS": str(outputs)}

    def command(*arguments: str) -> str:
        return subprocess.run(
            [fresh / "global-integers", *arguments], env=environment, capture_output=True, text=True, check=True
        ).stdout

    minted = json.loads(command("mint", "orders", "-n", "5", "--json"))
    assert minted == list(range(minted[0], minted[0] + 15, 3))
    assert "all is well" in command("check")
    signing = "from global_integers import Integers; Integers({'a': 'http://127.0.0.1/'}, sign=True)"
    refused = subprocess.run([fresh / "python", "-c", signing], capture_output=True, text=True)
    assert 'pip install "global-integers-client[aws]"' in refused.stderr
