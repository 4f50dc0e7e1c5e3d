"""Deployments that many tests look at; each is run once a process."""

from typing import Any

import pytest

from tests.components.recording import Deployment
from tests.components.running import HOME, THREE, config, deploy

DOMAIN = "integers.example.com"
SHOWN: dict[str, Any] = {"apiGateway": True, "leaving": ["us-west-2"], "dashboard": True}


@pytest.fixture(scope="session")
def signed() -> Deployment:
    """Three regions, all else by default: signed requests, protected."""
    return deploy(config(*THREE))


@pytest.fixture(scope="session")
def public() -> Deployment:
    """Three regions, open to everyone, nothing protected."""
    return deploy(config(*THREE, authorization="NONE", protect=False))


@pytest.fixture(scope="session")
def leaving() -> Deployment:
    """Three regions of which all may have counters, and a fourth one that leaves; with API Gateway, and a dashboard."""
    return deploy(config(*THREE, **SHOWN, openCounters=True))


@pytest.fixture(scope="session")
def signed_domain() -> Deployment:
    """The domain is the only way in, in Route 53; callers sign."""
    return deploy(config(*THREE, **SHOWN, domain=DOMAIN, hostedZone="example.com", functionUrls=False))


@pytest.fixture(scope="session")
def public_domain() -> Deployment:
    """The domain beside URLs for everyone, with records made by hand, pages of another origin, and open counters."""
    more: dict[str, Any] = {"corsOrigins": ["https://shop.example"], "openCounters": True}
    return deploy(config(*THREE, **SHOWN, domain=DOMAIN, authorization="NONE", **more))


@pytest.fixture(scope="session")
def elsewhere() -> Deployment:
    """Two regions, and the home region in a third one, with a dashboard."""
    emails = ["a@shop.example", "b@shop.example"]
    return deploy(config("eu-west-1", "eu-north-1", home="us-west-2", alarmEmails=emails, dashboard=True))


@pytest.fixture(scope="session")
def one() -> Deployment:
    """One region, the home region."""
    return deploy(config(HOME))
