"""A new version of the coordinator checks what it needs, and only then moves its aliases to itself."""

from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed
from aws_client.service import ServiceError
from coordinate.check import PATIENCE, PAUSE
from coordinate.functions import TIMEOUT, Alias, AliasError
from coordinate.protocol.model import Absent, Refused
from coordinate.self_check import ALIASES, check_self

from tests.lambda_.coordinate.test_release import REGIONS, InMemory, clock, tables

__all__ = ["clock"]


class Client:
    """The coordinator's own aliases."""

    def __init__(self, **versions: str) -> None:
        self.versions = versions
        self.before: list[Exception] = []
        """What whoever asks by an alias gets first: AWS leads to the version before for some seconds."""
        self.asked = 0
        """How often that was."""

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

    def invoke(arn: str, event: dict[str, Any], timeout: float) -> dict[str, str]:
        assert (arn, event, timeout) == (f"{ARN}:deployments", {"self": {"build": build}}, TIMEOUT)
        assert set(client.versions.values()) == {version}, "all aliases have moved"
        client.asked += 1
        if client.asked <= len(client.before):
            raise client.before[client.asked - 1]
        return {"checked": "deployments"}

    monkeypatch.setattr("coordinate.self_check.Functions", own)
    monkeypatch.setattr("coordinate.self_check.invoke", invoke)
    monkeypatch.setenv("BUILD", "3f")
    return check_self(f"{ARN}:{version}", version, build, tables(**more), functions)


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        ("4", "", ""),  # the first deployment
        ("4", "33", "44"),
        ("4", "43", "44"),  # interrupted
        ("4", "55", "55"),  # an outdated one
        ("", "33", "33"),
        ("$LATEST", "33", "33"),
    ],
)
def test_a_coordinator_that_works_moves_its_aliases(
    monkeypatch: pytest.MonkeyPatch, version: str, before: str, after: str
) -> None:
    """A minting region that is down is no fault of it."""
    client = Client(**dict(zip(ALIASES, before, strict=False)))

    reply = checked_self(monkeypatch, client, version, functions=InMemory(down=REGIONS))
    assert reply == {"checked": version or "$LATEST"}
    assert "".join(client.versions.values()) == after
    assert client.asked == (after == "44"), "where it is, callers reach it"


OLD = InvocationFailed("CoordinatorError", "version 3 of the coordinator isn't of build 3f")
NO_ALIAS = ServiceError(404, "ResourceNotFoundException", "Function not found")
DENIED = ServiceError(403, "AccessDeniedException", "not authorized")


def test_it_is_checked_once_callers_reach_it(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    """Before, the deployment would go on with the old one, and take from it what it needs."""
    client = Client(deployments="3", minting="3")
    client.before = [DENIED, NO_ALIAS, OLD, NoResponse("timed out")]
    assert checked_self(monkeypatch, client, "4") == {"checked": "4"}
    assert (client.asked, sum(clock)) == (5, 4 * PAUSE)

    client = Client(deployments="3", minting="3")
    client.before = [OLD] * 1000
    why = "callers reach the coordinator can't be moved: it doesn't lead to version 4 yet: version 3"
    with pytest.raises(Refused, match=why):
        checked_self(monkeypatch, client, "4")
    assert sum(clock) == 4 * PAUSE + PATIENCE


def test_its_aliases_are_moved_as_soon_as_aws_lets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client, refusals = Client(deployments="3", minting="3"), iter([AliasError("ResourceConflictException")] * 3)
    move = client.move

    def move_later(*asked: Any) -> None:
        if refusal := next(refusals, None):
            raise refusal
        move(*asked)

    monkeypatch.setattr(client, "move", move_later)
    assert checked_self(monkeypatch, client, "4") == {"checked": "4"}
    assert client.versions == {"deployments": "4", "minting": "4"}


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"item": Absent.UNREACHABLE}, "the new version of the coordinator can't use the counters table of any region"),
        ({"recorded": Absent.GONE}, "the new version of the coordinator can't use the receipts table of any region"),
        (
            {"functions": InMemory(denied=["b"])},
            "the new version of the coordinator may not read the minting functions' aliases",
        ),
        ({"build": "4e"}, "version 4 of the coordinator isn't of build 4e, so the previous one goes on"),
    ],
)
def test_a_coordinator_that_lacks_something_moves_nothing(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], more: dict[str, Any], what: str
) -> None:
    client = Client(deployments="3", minting="3")
    with pytest.raises(Refused, match=f"^{what}"):
        checked_self(monkeypatch, client, "4", **more)

    assert client.versions == {"deployments": "3", "minting": "3"}
    assert sum(clock) == (PATIENCE if "functions" in more else 0), "AWS may not know a new policy yet"
