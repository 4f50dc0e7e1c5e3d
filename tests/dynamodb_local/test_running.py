"""DynamoDB Local as the tests run it: only this machine reaches it, and nothing is left of it."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from local.aws_clients import Aws
from tests.dynamodb_local import running
from tests.lambda_.coordinator_calls import make_table

pytestmark = [pytest.mark.long, pytest.mark.needs("dynamodb-local")]


def test_it_listens_on_127_0_0_1_only_until_it_is_ended(tmp_path: Path) -> None:
    with running(tmp_path / "log") as url:
        port = urlsplit(url).port
        socket.create_connection(("127.0.0.1", port or 0)).close()
        with pytest.raises(OSError, match=r"refused|assign"):  # on a Mac, there is no such address
            socket.create_connection(("127.0.0.2", port or 0))

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port or 0))


def test_every_region_has_tables_of_its_own(dynamodb_local: str) -> None:
    aws = Aws(dynamodb_local)
    make_table(aws, "eu-west-1", "of-a-region")

    assert "of-a-region" not in aws.client("dynamodb", "us-east-1").list_tables()["TableNames"]
    aws.client("dynamodb", "eu-west-1").delete_table(TableName="of-a-region")
