"""The engine, on a real server: what it keeps, replaces, takes over and removes, as Pulumi's would."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pulumi
import pytest

from components.global_integers import GlobalIntegers
from components.settings import args_of_stack
from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.engine.program import main
from local.operator_commands import mint
from local.paths import LocalError
from local.stack import State
from tests.local.callers import allowing, document
from tests.local.registrations import HOME, create_bare_table, previewed, registration, role, table
from tests.local.registrations import up as apply

OTHER = "eu-west-1"
TABLE = "aws:dynamodb/table:Table"


@dataclass
class Stack:
    """A stack of its own on the shared server."""

    aws: Aws
    name: str = field(default_factory=lambda: f"t{uuid4().hex[:8]}")

    def deploy(
        self, *regions: str, home: str = HOME, program: Callable[[], None] = main
    ) -> tuple[dict[str, Any], Counter[str]]:
        """Deploy. Return what was exported, and how often each event was reported."""
        events: list[str] = []
        settings = {"regions": json.dumps(regions), "authorization": "NONE", "protect": "false"}
        config = {"aws:region": home, **{f"global-integers:{name}": value for name, value in settings.items()}}
        exported = deploy(
            "global-integers", self.name, config, self.aws, lambda event, _kind, _name: events.append(event), program
        )
        return exported, Counter(events)

    def table(self, name: str, region: str = HOME) -> str:
        """Return the id of one of its tables, which another table of the same name wouldn't have."""
        table = f"global-integers-{self.name}-{name}"
        return self.aws.client("dynamodb", region).describe_table(TableName=table)["Table"].get("TableId", "")


@pytest.fixture
def stack(aws: Aws, folder: Path) -> Stack:
    return Stack(aws)


def ignore(_event: str, _kind: str, _name: str) -> None:
    """Report nothing."""


@pytest.mark.long
def test_what_was_not_recorded_or_is_renamed_stays_the_same(stack: Stack, folder: Path) -> None:
    def renamed() -> None:
        integers = GlobalIntegers("other", args_of_stack())
        pulumi.export("urls", integers.urls)

    before, _ = stack.deploy(HOME)
    assert mint(before["urls"][HOME]) == 1
    tables = [stack.table(name) for name in ("counters", "receipts", "layouts")]
    (folder / f"{stack.name}.json").unlink()  # as if the run had been killed before it recorded any of it

    after, _ = stack.deploy(HOME)
    assert after["urls"] == before["urls"]
    assert mint(after["urls"][HOME]) == 2

    after, events = stack.deploy(HOME, program=renamed)
    unchanged = events.pop("unchanged")
    assert (events, unchanged > 20) == ({"created": 5, "deleted": 5}, True), "only what has nothing but a name"
    assert [stack.table(name) for name in ("counters", "receipts", "layouts")] == tables
    assert after["urls"] == before["urls"]
    assert mint(after["urls"][HOME]) == 3
    assert {made.name.split("-")[0] for made in State(stack.name).resources.values()} == {"other"}


def test_a_role_that_a_killed_run_had_half_made_is_removed(aws: Aws, name: str) -> None:
    iam = aws.client("iam", HOME)
    apply(aws, role(name))
    iam.put_role_policy(RoleName=name, PolicyName="left", PolicyDocument=document(allowing("*")))

    assert apply(aws)[1] == Counter(deleted=1)
    assert name not in {found["RoleName"] for found in iam.list_roles()["Roles"]}


def test_where_all_tables_and_roles_are_lost_nothing_begins_at_1(stack: Stack) -> None:
    """Pulumi's state remembers that there was a layouts table."""
    stack.deploy(HOME)
    prefix = f"global-integers-{stack.name}"
    for kind in ("layouts", "mirror", "counters", "receipts"):
        stack.aws.client("dynamodb", HOME).delete_table(TableName=f"{prefix}-{kind}")
    iam = stack.aws.client("iam", HOME)
    for own in (f"{prefix}-coordinate-{HOME}", f"{prefix}-mint-{HOME}"):
        for policy in ("next", "own"):
            iam.delete_role_policy(RoleName=own, PolicyName=policy)
        iam.delete_role(RoleName=own)

    for _ in range(2):
        with pytest.raises(LocalError, match=r"Neither the layouts table .*both tables were lost") as refused:
            stack.deploy(HOME)
        assert "in Pulumi's state" in str(refused.value)


def test_a_preview_of_another_identity_creates_and_deletes(aws: Aws, name: str) -> None:
    apply(aws, registration(TABLE, "table", table(f"{name}-a").inputs))

    _, events = previewed(aws, registration(TABLE, "table", table(f"{name}-b").inputs))

    assert events == Counter(create=1, delete=1)


def test_two_resources_that_are_the_same_are_refused(aws: Aws, name: str) -> None:
    with pytest.raises(LocalError, match=f"^two and one are the same resource: {TABLE} {HOME} {name}$"):
        apply(aws, *(registration(TABLE, title, table(name).inputs) for title in ("one", "two")))


def test_what_could_not_be_created_is_not_in_the_state(aws: Aws, name: str) -> None:
    state = State("dev")

    with pytest.raises(LocalError, match=name):
        Engine(aws, state, ignore).create(table(name, hashKey="nonesuch"))

    assert state.resources == State("dev").resources == {}
    Engine(aws, state, ignore).create(table(name))
    assert [made.name for made in State("dev").resources.values()] == [name]


def test_a_table_that_a_killed_run_had_half_made_is_completed(aws: Aws, name: str) -> None:
    client = aws.client("dynamodb", HOME)
    create_bare_table(aws, name)

    Engine(aws, State("dev"), ignore).create(table(name))

    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert (ttl.get("TimeToLiveStatus"), ttl.get("AttributeName")) == ("ENABLED", "expires")
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED"


def test_a_resource_or_question_that_is_not_for_here_is_named(folder: Path) -> None:
    engine = Engine(Aws("http://127.0.0.1:1"), State("dev"), ignore)

    with pytest.raises(LocalError, match=r"my-queue: .* aws:sqs/queue:Queue .*local/resources/"):
        engine.create(registration("aws:sqs/queue:Queue", "my-queue", {}))
    with pytest.raises(LocalError, match=r"aws:ec2/getAmi:getAmi: .*local/resources/"):
        engine.call("aws:ec2/getAmi:getAmi", {})
