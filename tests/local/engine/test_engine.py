"""The engine, on a real server: what it keeps, replaces, takes over and removes, as Pulumi's would."""

from collections import Counter
from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.engine import Engine
from local.paths import LocalError
from local.stack import State
from tests.local.callers import allowing, document
from tests.local.registrations import HOME, create_bare_table, previewed, registration, role, table, up

TABLE = "aws:dynamodb/table:Table"


def ids(aws: Aws, name: str) -> dict[str, str]:
    """Return the ids of tables whose names begin so; another table of the same name has another one."""
    client = aws.client("dynamodb", HOME)
    names = [found for found in client.list_tables()["TableNames"] if found.startswith(name)]
    return {found: client.describe_table(TableName=found)["Table"].get("TableId", "") for found in names}


def test_what_was_not_recorded_or_is_renamed_stays_the_same(aws: Aws, name: str, folder: Path) -> None:
    def titled(title: str) -> Counter[str]:
        return up(aws, role(name), registration(TABLE, title, table(name).inputs))[1]

    assert titled("one") == Counter(created=2)
    before = ids(aws, name)
    (folder / "parts.json").unlink()  # as if the run had been killed before it recorded any of it
    assert titled("one") == Counter(created=2)
    assert titled("two") == Counter(unchanged=2)
    assert ids(aws, name) == before
    assert {made.name for made in State("parts").resources.values()} == {name, "two"}


def test_a_change_of_tags_is_none_here(aws: Aws, name: str) -> None:
    """On AWS, tags are changed in place. Here a changed certificate would be replaced."""
    assert up(aws, role(name, tags={"team": "shop"}))[1] == Counter(created=1)
    assert up(aws, role(name, tags={"team": "web"}))[1] == Counter(unchanged=1)


def test_a_role_that_a_killed_run_had_half_made_is_removed(aws: Aws, name: str) -> None:
    iam = aws.client("iam", HOME)
    up(aws, role(name))
    iam.put_role_policy(RoleName=name, PolicyName="left", PolicyDocument=document(allowing("*")))

    assert up(aws)[1] == Counter(deleted=1)
    assert name not in {found["RoleName"] for found in iam.list_roles()["Roles"]}


def test_a_preview_of_another_identity_creates_and_deletes(aws: Aws, name: str) -> None:
    up(aws, registration(TABLE, "table", table(f"{name}-a").inputs))

    _, events = previewed(aws, registration(TABLE, "table", table(f"{name}-b").inputs))

    assert events == Counter(create=1, delete=1)
    assert [*ids(aws, name)] == [f"{name}-a"]


def test_two_resources_that_are_the_same_are_refused(aws: Aws, name: str) -> None:
    with pytest.raises(LocalError, match=f"^two and one are the same resource: {TABLE} {HOME} {name}$"):
        up(aws, *(registration(TABLE, title, table(name).inputs) for title in ("one", "two")))


def test_what_could_not_be_created_is_not_in_the_state(aws: Aws, name: str) -> None:
    with pytest.raises(LocalError, match=rf"^{name} \({TABLE}\): "):
        up(aws, table(name, hashKey="nonesuch"))

    assert State("parts").resources == {}
    up(aws, table(name))
    assert [made.name for made in State("parts").resources.values()] == [name]


def test_a_table_that_a_killed_run_had_half_made_is_completed(aws: Aws, name: str) -> None:
    client = aws.client("dynamodb", HOME)
    create_bare_table(aws, name)

    up(aws, table(name))

    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert (ttl.get("TimeToLiveStatus"), ttl.get("AttributeName")) == ("ENABLED", "expires")
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED"


def test_a_resource_or_question_that_is_not_for_here_is_named(folder: Path) -> None:
    engine = Engine(Aws("http://127.0.0.1:1"), State("dev"), lambda _event, _kind, _name: None)

    with pytest.raises(LocalError, match=r"my-queue: .* aws:sqs/queue:Queue .*local/resources/"):
        engine.create(registration("aws:sqs/queue:Queue", "my-queue", {}))
    with pytest.raises(LocalError, match=r"aws:ec2/getAmi:getAmi: .*local/resources/"):
        engine.call("aws:ec2/getAmi:getAmi", {})


def test_what_is_protected_is_named_and_nothing_is_deleted(aws: Aws, name: str) -> None:
    protected, loose = table(f"{name}-a", protect=True), table(f"{name}-b")
    up(aws, role(name), loose, protected)
    before = ids(aws, name)

    with pytest.raises(LocalError) as refused:
        up(aws, role(name))

    assert str(refused.value) == (
        f"these are protected, and no longer in the program: {name}-a ({TABLE} {HOME} {name}-a). Nothing was deleted. "
        "Put them back. Then, to remove a region, deploy with it in `leaving`; to delete anything else, with "
        "`protect: false`"
    )
    assert ids(aws, name) == before
    assert up(aws, role(name), loose, protected)[1] == Counter(unchanged=3), "put back, it goes on"
    assert up(aws, role(name), loose, table(f"{name}-a"))[1] == Counter(unchanged=3)
    assert up(aws)[1] == Counter(deleted=3), "what lost its protection first may be deleted"


def test_protection_that_is_switched_on_later_counts(aws: Aws, name: str) -> None:
    up(aws, table(name))
    up(aws, table(name, protect=True, deletionProtectionEnabled=True))
    with pytest.raises(LocalError, match="are protected"):
        up(aws)

    client = aws.client("dynamodb", HOME)
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.delete_table(TableName=name)
    up(aws)
    assert State("parts").resources == {}, "what is gone is forgotten"
