"""What a deployment asks the coordinator for: the settings, and what the record says of the deployment before."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
import pulumi_aws as aws

from integers.records import RECORD_KEY

from ..settings.settings import SettingsError
from .record import StoredRecord, changes, dropped, event, record_of

FIRST_HOME = re.compile(r"([a-z0-9-]+) (\S+)")
"""The home region and the label of its layouts table."""


@dataclass
class DeploymentArgs:
    """What is asked for, and where the record is."""

    home_region: str
    layouts: aws.dynamodb.Table
    """It stays in the region in which it was created, whatever the settings say."""
    desired: Mapping[str, Any]
    """What the settings say."""
    home: pulumi.Output[str]
    """The home region and the label of its layouts table."""
    first: pulumi.Output[str]
    """What `home` was when the stack was first deployed; empty where that isn't known."""
    tables: Mapping[str, aws.dynamodb.Table]
    """Region → its counters table."""
    protect: bool


def request(args: DeploymentArgs, parent: pulumi.Resource) -> pulumi.Output[str]:
    """Return the coordinator's event. A preview says in words what it will change.

    It has the tables' stream labels, so that a recreated table changes it.

    Raises:
        SettingsError: in the output. A protected region would be deleted without having left.
    """
    # The ARN is unknown until the table exists. Until then nothing is read.
    record = args.layouts.arn.apply(lambda arn: _read(at_home(arn, args.home_region), parent))
    labels = {region: table.stream_label for region, table in args.tables.items()}

    def check(record: StoredRecord | None) -> StoredRecord | None:
        if args.protect:
            _check_that_regions_leave(args.desired, record)
        return record

    checked = record.apply(check)
    if pulumi.runtime.is_dry_run():
        # A table that the deployment will create has no label yet.
        known = {region: label.apply(_if_known, run_with_unknowns=True) for region, label in labels.items()}
        pulumi.Output.all(checked, pulumi.Output.from_input(known)).apply(lambda both: _say(args.desired, both, parent))
    return pulumi.Output.all(checked, pulumi.Output.from_input(labels), args.home, args.first).apply(
        lambda resolved: _event(args.desired, resolved)
    )


def first_home(description: str | None, home: str) -> str:
    """Return the first home region and table, as the description of the coordinator's role has them.

    Args:
        description: of a role that was created before it held them, it is empty or another text.
        home: the home region of the settings.

    Raises:
        SettingsError: the home region was another one.
    """
    first = FIRST_HOME.fullmatch(description or "")
    if first is None:
        return ""
    _check_home(first[1], home)
    return first[0]


def kept_name(name: str, expected: str) -> str:
    """Return the layouts table's name, which it keeps whatever the settings say.

    Args:
        name: the table's.
        expected: what the settings make of its name.

    Raises:
        SettingsError: the prefix was another one.
    """
    if name != expected:
        first, now = name.removesuffix("-layouts"), expected.removesuffix("-layouts")
        raise SettingsError(
            f"prefix: this stack is deployed as {first!r} and can't be renamed to {now!r}, because that would replace "
            "its tables; give the project and the stack their old names again (`pulumi stack rename`), or set the "
            f"argument prefix={first!r}"
        )
    return name


def at_home(layouts_arn: str, home: str) -> str:
    """Return the ARN of the layouts table, if it is in the home region of the settings.

    Raises:
        SettingsError: it is in another one.
    """
    _check_home(layouts_arn.split(":")[3], home)
    return layouts_arn


def _check_home(first: str, home: str) -> None:
    if first != home:
        raise SettingsError(
            f"aws:region: the home region was {first} and can't be moved to {home}; set it back to {first}"
        )


def _read(layouts_arn: str, parent: pulumi.Resource) -> pulumi.Output[StoredRecord | None]:
    found = aws.dynamodb.get_table_item_output(
        table_name=layouts_arn.rpartition("/")[2],
        region=layouts_arn.split(":")[3],
        key=json.dumps({"counter": {"S": RECORD_KEY}}),
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    item = found.apply(lambda found: cast("str | None", found.item))
    return item.recover(_missing).apply(lambda item: record_of(item) if item else None)


def _missing(error: Exception) -> None:
    """Accept that there is no record: the provider then finds nothing, and no call to AWS has failed."""
    if "operation error" in str(error):
        raise pulumi.RunError(f"the record of the last deployment can't be read: {error}")


def _check_that_regions_leave(desired: Mapping[str, Any], record: StoredRecord | None) -> None:
    gone = dropped(desired, record)
    if gone:
        raise SettingsError(
            f"regions: {', '.join(gone)}: tables are protected here, so a region can't be removed before it has left. "
            "Set these two and deploy:\n"
            f"  leaving: {json.dumps([*desired['leaving'], *gone])}\n"
            f"  regions: {json.dumps(desired['regions'])}\n"
            f"Then remove {', '.join(gone)} from leaving and deploy again."
        )


def _if_known(label: Any) -> str:
    return label if isinstance(label, str) else ""


def _say(desired: Mapping[str, Any], resolved: Sequence[Any], parent: pulumi.Resource) -> None:
    record, tables = resolved
    text = changes({**desired, "tables": tables}, record)
    if text:
        pulumi.log.info(text, resource=parent)


def _event(desired: Mapping[str, Any], resolved: Sequence[Any]) -> str:
    record, tables, home, first = resolved
    return event({**desired, "tables": tables, "home": home, "first": first}, record, int(time.time()))
