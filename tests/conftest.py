"""A local AWS server that the tests share, on a free port and in a folder of its own."""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from local import server
from local.ports import any_free_port
from local.resources import Aws

pytest_plugins = ["tests.lambda_.fixtures", "tests.markers", "tests.unique_ids"]


@pytest.fixture(scope="session")
def aws() -> Generator[Aws]:
    """The server's clients, with root's test keys. It ends with the tests, whatever happens in them."""
    before = os.environ.get("GLOBAL_INTEGERS_LOCAL")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GLOBAL_INTEGERS_LOCAL"] = folder
        try:
            started = server.start(any_free_port())
        finally:
            if before is None:
                del os.environ["GLOBAL_INTEGERS_LOCAL"]
            else:
                os.environ["GLOBAL_INTEGERS_LOCAL"] = before
        try:
            yield Aws(started.endpoint)
        finally:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GLOBAL_INTEGERS_LOCAL", folder)
                server.SERVICE.stop()
            assert not started.alive()
            assert not list(Path(folder).glob("server.json"))
