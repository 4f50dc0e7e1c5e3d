"""The state folder of the tests that use the modules themselves, and their names on the shared server."""

from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import pytest

from local.server import process


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The state folder of this process, empty."""
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(tmp_path))
    yield tmp_path
    for child in process._children:
        child.poll()  # a process that `python -m local down` ended: Python would warn of it


@pytest.fixture
def name(folder: Path) -> str:
    """A name that nothing has on the server yet."""
    return f"t{uuid4().hex[:8]}"
