"""A new version of the coordinator checks what it needs, and only then moves its aliases to itself."""

from typing import Any

import pytest
from coordinate.functions import Alias
from coordinate.protocol.model import Absent, Refused
from coordinate.self_check import check_self

from tests.lambda_.coordinate.test_release import REGIONS, InMemory, clock, tables

__all__ = ["clock"]


class Client:
    """The coordinator's own aliases."""

    def __init__(self, **versions: str) -> None:
        self.versions = versions

    def alias(self, region: str, name: str = "") -> Alias | None:
        assert region == "us-east-1"
        return Alias(self.versions[name], revision="r") if name in self.versions else None

    def move(self, region: str, alias: Alias, version: str, description: str, name: str = "") -> None:
        assert (region, alias.revision) == ("us-east-1", "r")
        self.versions[name] = version


ARN = "arn:aws:lambda:us-east-1:123456789012:function:shop-coordinate"


def checked_self(
    monkeypatch: pytest.MonkeyPatch, client: Client, version: str, build: str = "3f", **more: Any
) -> dict[str, str]:
    functions = more.pop("functions", InMemory())

    def own(_: str, name: str) -> Client:
        assert name == "shop-coordinate"
        return client

    monkeypatch.setattr("coordinate.self_check.Functions", own)
    monkeypatch.setenv("BUILD", "3f")
    return check_self(f"{ARN}:{version}", version, build, tables(**more), functions)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),  # the first deployment
        ({"deployments": "3", "minting": "3"}, {"deployments": "4", "minting": "4"}),
        ({"deployments": "4", "minting": "3"}, {"deployments": "4", "minting": "4"}),  # interrupted
        ({"deployments": "5", "minting": "5"}, {"deployments": "5", "minting": "5"}),  # an outdated one
    ],
)
def test_a_coordinator_that_works_moves_its_aliases(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, str], after: dict[str, str]
) -> None:
    client = Client(**before)

    assert checked_self(monkeypatch, client, "4") == {"checked": "4"}
    assert client.versions == after


def test_the_newest_code_moves_no_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(deployments="3", minting="3")

    for version in ("", "$LATEST"):
        checked_self(monkeypatch, client, version)
    assert client.versions == {"deployments": "3", "minting": "3"}


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"item": Absent.UNREACHABLE}, "can't use the counters table of any region"),
        ({"recorded": Absent.GONE}, "can't use the receipts table of any region"),
        ({"functions": InMemory(denied=["b"])}, "may not read the minting functions' aliases"),
    ],
)
def test_a_coordinator_that_lacks_something_moves_nothing(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], what: str
) -> None:
    client = Client(deployments="3", minting="3")
    with pytest.raises(Refused, match=f"the new version of the coordinator {what}"):
        checked_self(monkeypatch, client, "4", **more)

    assert client.versions == {"deployments": "3", "minting": "3"}


def test_a_region_that_is_down_is_no_fault_of_the_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(deployments="3", minting="3")
    checked_self(monkeypatch, client, "4", functions=InMemory(down=REGIONS))

    assert client.versions == {"deployments": "4", "minting": "4"}


def test_a_version_of_another_build_is_not_the_new_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(deployments="3", minting="3")
    with pytest.raises(Refused, match=r"^version 4 of the coordinator isn't of build 4e, so the previous one goes on"):
        checked_self(monkeypatch, client, "4", build="4e")

    assert client.versions == {"deployments": "3", "minting": "3"}
