"""DynamoDB Local, AWS's own DynamoDB for development, for the tests that are marked `long`.

How it differs from DynamoDB, as far as this project notices (version 2.6.1):

- Its ARNs have the region `ddblocal`. Every region has tables of its own all the same, and so has every access key.
- `DescribeTable` has no `TableId`. A recreated table is recognized by the time of its creation, in milliseconds.
- It knows no point-in-time recovery (`UnknownOperationException`), and doesn't change a table's key of KMS.
- A table without a stream has the label of the last stream that a table of this name had.
- It checks no signature, and neither throttles nor cancels transactions that conflict.

The answers to all calls of the minting function and of the coordinator's protocol are the same as DynamoDB's.
"""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.programs import DYNAMODB_LOCAL


@contextmanager
def running(log: Path) -> Generator[str]:
    """Run an empty DynamoDB Local during the block, and return its URL. It also ends if this process is killed."""
    with (
        log.open("w") as errors,
        subprocess.Popen(
            # Not -sharedDb: with it, all regions would have the same tables.
            [*DYNAMODB_LOCAL.command(), "-inMemory", "-disableTelemetry"],
            stdin=subprocess.PIPE,  # it ends with this
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests
        ) as process,
    ):
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), log.read_text()
        yield url
        # Now `Popen` closes its input, and waits for its end.


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of a DynamoDB Local that the tests of a process share. It ends with them, whatever happens in them."""
    with running(tmp_path_factory.mktemp("dynamodb-local") / "log") as url:
        yield url
