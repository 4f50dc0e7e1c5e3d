"""A bad build of the minting function stops at the first region; the others mint on with the code that they have."""

import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.local.machine import Machine, mint

TWO = ("us-east-1", "eu-west-1")

BAD = {
    "def handler(event, context):\n    return {'statusCode': 500, 'body': '{}'}\n": "500 {}",
    "raise RuntimeError('this build is bad')\n": "an error of the function",
}
"""The code of a bad build → how the deployment says what is wrong with it."""


@pytest.fixture
def machine(machines: Callable[[], Machine], tmp_path: Path) -> Generator[Machine]:
    """A machine that deploys a checkout of its own, with two regions."""
    machine = machines()
    machine.checkout = tmp_path / "checkout"
    for name in ("components", "global_integers_core", "lambda", "local"):
        shutil.copytree(ROOT / name, machine.checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("Pulumi*.yaml"), ROOT / "__main__.py", ROOT / "pyproject.toml"):
        shutil.copy(path, machine.checkout)
    yield machine
    machine.end()


@pytest.mark.long
def test_a_bad_build_stops_at_the_first_region_and_is_mended(machine: Machine) -> None:
    assert machine.up(*TWO).returncode == 0
    urls = machine.outputs()["urls"]
    minted = [mint(urls[region])[1]["integer"] for region in TWO]
    handler = machine.checkout / "lambda" / "mint" / "handler.py"
    good = handler.read_text()

    for code, expected in BAD.items():
        handler.write_text(code)
        failed = machine.up(*TWO)

        assert failed.returncode != 0
        assert (
            "us-east-1: the minting function doesn't work after its update. GET /-/health: expected 200, but got"
            in failed.stderr
        ), failed.stderr
        assert expected in failed.stderr, failed.stderr
        assert "docs/operations.md#a-wave-that-fails" in failed.stderr
        assert mint(urls["us-east-1"])[0] >= 500, "the first region has the bad build"
        status, document = mint(urls["eu-west-1"])
        assert status == 200
        minted.append(document["integer"])

    handler.write_text(good)
    mended = machine.up(*TWO)

    assert mended.returncode == 0, mended.stderr
    for region in TWO * 2:
        status, document = mint(urls[region])
        assert status == 200
        minted.append(document["integer"])
        assert mint(urls[region], "-check")[0] == 404, "no caller reaches the counter of the check"
    assert len(set(minted)) == len(minted)
    assert list(machine.outputs()["counters"]) == ["integers", "orders"], "the counter of the check isn't shown"
