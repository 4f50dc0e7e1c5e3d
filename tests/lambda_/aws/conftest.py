"""Fixtures for calls to a server that fails."""

import pytest


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, credentials: None) -> None:
    """A short timeout, so that a test of a stalled server is quick."""
    monkeypatch.setattr("aws.dynamodb.TIMEOUT", 0.3)
