"""Deployments that many tests look at; each is run once."""

import pytest

from tests.components.recording import Deployment
from tests.components.running import THREE, config, deploy


@pytest.fixture(scope="session")
def signed() -> Deployment:
    """Three regions, all else by default: signed requests, protected."""
    return deploy(config(*THREE))


@pytest.fixture(scope="session")
def public() -> Deployment:
    """Three regions, open to everyone, nothing protected."""
    return deploy(config(*THREE, authorization="NONE", protect=False))
