"""Deployments that many tests look at; each is run once a process."""

from collections.abc import Generator
from pathlib import Path

import pytest

from local.apigateway import GATEWAY
from local.aws_clients import Aws
from local.domain import DOMAIN
from local.server import aws_server
from tests.components.recording import Deployment
from tests.components.registrations import CONFIGURATIONS
from tests.components.running import HOME, THREE, config, deploy


@pytest.fixture(scope="session")
def signed() -> Deployment:
    """Three regions, all else by default: signed requests, protected."""
    return deploy(CONFIGURATIONS["signed"])


@pytest.fixture(scope="session")
def public() -> Deployment:
    """Three regions, open to everyone, nothing protected."""
    return deploy(config(*THREE, authorization="NONE", protect=False))


@pytest.fixture(scope="session")
def ruled() -> Deployment:
    """What a company may ask for: a path and a boundary of roles, keys, a budget, notifications."""
    return deploy(CONFIGURATIONS["ruled"])


@pytest.fixture(scope="session")
def leaving() -> Deployment:
    """Three regions of which all may have counters, and a fourth one that leaves; with API Gateway, and a dashboard."""
    return deploy(CONFIGURATIONS["leaving"])


@pytest.fixture(scope="session")
def signed_domain() -> Deployment:
    """The domain is the only way in, in Route 53; callers sign."""
    return deploy(CONFIGURATIONS["signed_domain"])


@pytest.fixture(scope="session")
def public_domain() -> Deployment:
    """The domain beside URLs for everyone, with records made by hand, and pages of another origin."""
    return deploy(CONFIGURATIONS["public_domain"])


@pytest.fixture(scope="session")
def elsewhere() -> Deployment:
    """Two regions, and the home region in a third one, with a dashboard and a budget."""
    more = {"dashboard": True, "budget": 5, "alarmEmails": ["a@shop.example"]}
    return deploy(config("eu-west-1", "eu-north-1", home="us-west-2", **more))


@pytest.fixture(scope="session")
def one() -> Deployment:
    """One region, the home region."""
    return deploy(config(HOME))


@pytest.fixture
def local_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Aws]:
    """A local server of a test's own, since what it deploys is protected."""
    folder = tmp_path / "local"
    folder.mkdir()
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder))
    yield Aws(aws_server.start(0).endpoint)
    for service in (DOMAIN, GATEWAY, aws_server.SERVICE):
        service.stop()
