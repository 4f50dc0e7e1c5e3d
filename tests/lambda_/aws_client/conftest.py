"""Fixtures for calls to a server that fails."""

import pytest

from proof.faulty_server import PATIENCE
from tests.lambda_.aws_client.faults import CLOCK


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, credentials: None) -> None:
    """Patience with a server, however busy the machine is; time passes at once where a server answers too late."""
    monkeypatch.setattr("aws_client.connection.time", CLOCK)
    monkeypatch.setattr("aws_client.service.TIMEOUT", PATIENCE)
    monkeypatch.setattr("aws_client.service.CONNECT_TIMEOUT", PATIENCE)
