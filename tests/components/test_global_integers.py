"""`pulumi preview` on an empty stack, and what happens (nothing) before a program runs."""

import importlib
import socket
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from local.paths import ROOT
from local.program import UNKNOWN
from tests.components.recording import Deployment
from tests.components.running import THREE, config, deploy

PUBLIC = config(*THREE, authorization="NONE", protect=False)


@pytest.fixture
def preview(monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """A run in which no outputs are known, and no connection can be made."""

    def refuse(_socket: socket.socket, address: object) -> None:
        raise AssertionError(f"the program connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return deploy(PUBLIC, preview=True)


def test_a_preview_shows_every_resource_that_the_deployment_makes(preview: Deployment, public: Deployment) -> None:
    assert sorted((r.type, r.name) for r in preview.resources) == sorted((r.type, r.name) for r in public.resources)


def test_a_preview_shows_the_layout_and_keeps_the_urls_open(preview: Deployment) -> None:
    assert preview.outputs["regions"] == list(THREE)
    assert preview.outputs["layout"] == {
        region: {"offset": offset, "stride": 3} for offset, region in enumerate(THREE, start=1)
    }
    assert preview.outputs["urls"] == dict.fromkeys(THREE, UNKNOWN)


def test_importing_the_components_does_nothing() -> None:
    modules = sorted(path.stem for path in (ROOT / "components").glob("*.py"))
    assert "regional_counter" in modules

    def load_all() -> None:
        for name in modules:
            importlib.import_module(f"components.{name}")  # the dataclasses in it look their module up
            load_again(ROOT / "components" / f"{name}.py")

    deployment = deploy({}, program=load_all)

    assert deployment.resources == []
    assert deployment.outputs == {}


def load_again(path: Path) -> None:
    """Run a module's code, imported before or not, without putting it in the place of the imported one."""
    spec = spec_from_file_location(f"components.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))
