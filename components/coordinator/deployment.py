"""What a deployment asks the coordinator for, by the settings and the record of the deployment before.

The coordinator admits a deployment only if it names the token in the record. So an outdated one is refused.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pulumi
import pulumi_aws as aws

from global_integers_core.names import CHECK_COUNTER
from global_integers_core.records import RECORD_KEY

from ..settings import SettingsError
from ..settings.values import canonical

T = TypeVar("T")


@dataclass(frozen=True)
class StoredRecord:
    """What the last admitted deployment asked for, and what became of it."""

    token: str
    """Random: what the next deployment follows."""
    number: int
    """1, 2, 3, …, for people."""
    follows: str
    """The token that this deployment read before; "" if there was none."""
    requested: int
    """When it was requested, in seconds since 1970."""
    desired: Mapping[str, Any]
    default_counter: str
    """What `/` mints from."""
    default_before: str
    """What it minted from before; "" if that has never changed."""
    reconciled: bool
    counters: Mapping[str, Any]
    """Name → its `epoch` and `base`; empty until it is carried out."""
    window: int
    """The largest of their present epochs; 0 until it is carried out."""


def record_of(item: str) -> StoredRecord:
    """Read the record from its item: a JSON object of DynamoDB attributes."""
    attributes = json.loads(item)
    report = json.loads(attributes["report"]["S"])
    return StoredRecord(
        token=attributes["token"]["S"],
        number=int(attributes["number"]["N"]),
        follows=attributes["follows"]["S"],
        requested=int(attributes["requested"]["N"]),
        desired=json.loads(attributes["desired"]["S"]),
        default_counter=attributes["defaultCounter"]["S"],
        default_before=attributes["defaultBefore"]["S"],
        reconciled=attributes["reconciled"]["BOOL"],
        counters=report.get("counters", {}),
        window=report.get("window", 0),
    )


def default_counter(chosen: str, counters: Sequence[str], record: StoredRecord | None) -> str:
    """Return what `/` is to mint from: as the settings say, or as before; at the first deployment, the first counter.

    `chosen` is the setting `defaultCounter`, "" if it isn't set.

    Raises:
        SettingsError: that is no counter of the settings any more; or it has changed once, and isn't chosen.
    """
    if record and record.default_before and not chosen:
        raise SettingsError(
            f"defaultCounter: / was changed from {record.default_before!r} to {record.default_counter!r}, so the "
            f"settings must always name its counter. Set it to {record.default_counter!r}, or to the other one"
        )
    default = chosen or (record.default_counter if record else counters[0])
    if default not in counters:
        raise SettingsError(
            f"counters: / mints from {default!r}, which isn't in the list. Put it back; or name the counter that / is "
            f"to mint from as defaultCounter, such as {counters[0]!r}: from that one, callers of / may get "
            "integers that they got before"
        )
    return default


def event(desired: Mapping[str, Any], record: StoredRecord | None, now: int) -> str:
    """Return the event of a deployment, as canonical JSON. `now` is in seconds since 1970.

    If the record asks for the same, this is the event that it was admitted by. Where that has succeeded, Pulumi sees
    no change, and doesn't call the coordinator. Where it hasn't, Pulumi has not kept the event, and sends it again,
    at any age. Otherwise the event is a new one.
    """
    follows, requested = (record.token if record else ""), now
    if record and record.desired == desired:
        follows, requested = record.follows, record.requested
    return canonical({"desired": desired, "follows": follows, "requested": requested})


MOST = 10
"""How many counters are named."""

NO_RECORD = "the first deployment was interrupted, and is continued"

PUT_BACK = "the layouts table has no record of the last deployment, and gets its copy in the mirror"

BOTH_LOST = "the layouts table and the mirror were lost"

ASKS = f"{BOTH_LOST}: the coordinator will ask for floors (docs/runbook.md#two-losses-at-once)"

FLOORS = f"{BOTH_LOST}: counters begin above their floors"

NUMBERS = {"window": "window", "headroom": "headroom", "scheduleMinutes": "schedule minutes"}


def changes(desired: Mapping[str, Any], record: StoredRecord) -> str:
    """Return what will change, in one line; empty if nothing will. Tables that don't exist yet have no label.

    The record doesn't know which counters were created without a deployment.
    """
    return "; ".join(_changes(desired, record))


def _changes(desired: Mapping[str, Any], record: StoredRecord) -> Iterator[str]:
    before = record.desired
    if not record.reconciled:
        same = all(before.get(key) == desired[key] for key in desired)
        again = "is continued" if same else "is replaced by this one"
        yield f"deployment {record.number} is not finished, and {again}"
    before_that, default = record.default_counter, desired["defaultCounter"]
    if default != before_that:
        yield (
            f"/ will mint from {default} instead of {before_that}: its callers may get integers that they got before"
        )
    yield from _epochs(desired, record)
    gone = _without(before["regions"], desired["regions"])
    existing = [counter for counter in before["counters"] if counter in record.counters]
    floors = {counter: n for counter, n in desired["floors"].items() if before["floors"].get(counter) != n}
    lists = {
        "joining": _without(desired["regions"], before["regions"]),
        "leaving": [region for region in gone if region in desired["leaving"]],
        "deleted at once, with their URLs (list them in leaving instead)": _without(gone, desired["leaving"]),
        "deleted": _without(before["leaving"], [*desired["regions"], *desired["leaving"]]),
        "new counters": _without(desired["counters"], [*before["counters"], *record.counters, CHECK_COUNTER]),
        "no longer in the settings, but still minting": _without(existing, desired["counters"]),
        "floors": [f"{counter} {n:,}" for counter, n in sorted(floors.items())],
    }
    yield from (f"{what}: {', '.join(values)}" for what, values in lists.items() if values)
    for key, words in NUMBERS.items():
        if before[key] != desired[key]:
            later = " (from each counter's next epoch on)" if key == "window" and desired[key] < before[key] else ""
            yield f"{words}: {before[key]:,} → {desired[key]:,}{later}"


def _epochs(desired: Mapping[str, Any], record: StoredRecord) -> Iterator[str]:
    """Say which counters begin another epoch: all of them, if the regions differ or a table was lost."""
    before = record.desired
    stride = len(before["regions"])
    both = desired["tableLabels"].keys() & before["tableLabels"].keys()
    lost = [
        each
        for each in before["regions"]
        if each in both and desired["tableLabels"][each] != before["tableLabels"][each]
    ]
    if not lost and before["regions"] == desired["regions"]:
        return
    # The new epoch lies above what each region may still mint; where a table is lost, above all it ever might have.
    gap = f"about {stride * desired['headroom']:,}"
    if lost:
        gap = f"up to {stride * record.window:,}, more where windows have grown"
    for name in sorted(record.counters)[:MOST]:
        epoch = record.counters[name]["epoch"]
        yield f"{name}: epoch {epoch} → {epoch + 1}, gap {gap}"
    if len(record.counters) > MOST:
        yield f"{len(record.counters) - MOST} more counters likewise"
    yield "the same for counters that aren't in the settings"
    if lost:
        yield f"lost tables: {', '.join(lost)}"


def _without(values: Sequence[str], others: Iterable[str]) -> list[str]:
    return [value for value in values if value not in set(others)]


def request(
    parent: pulumi.Resource,
    desired: Mapping[str, Any],
    record: pulumi.Output[StoredRecord | None],
    mirrored: pulumi.Output[StoredRecord | None],
    tables: Mapping[str, aws.dynamodb.Table],
    *,
    protect: bool,
    default_counter: pulumi.Output[str],
    layouts_label: pulumi.Output[str],
    first_layouts_label: pulumi.Output[str],
) -> pulumi.Output[str]:
    """Return the coordinator's event. A preview says in words what it will change.

    `desired` is what the settings ask for (`desired_state_of`), `mirrored` the record or else its copy in the mirror.
    The event also has the stream labels of the tables, so that a recreated table changes it. The output fails if a
    protected region would be deleted without having left.
    `layouts_label` is the home region with the label of its layouts table, `first_layouts_label` what it was when the
    stack was first deployed.
    """
    if protect:
        record = record.apply(lambda record: _check_that_regions_leave(desired, record))
    labels = {region: table.stream_label for region, table in tables.items()}

    def say(resolved: Sequence[Any]) -> None:
        record, mirrored, labels, default, layouts_label, first_layouts_label = resolved
        asked = {**desired, "tableLabels": labels, "defaultCounter": default}
        if record:
            text = changes(asked, record)
        elif mirrored:
            text = PUT_BACK
        elif not first_layouts_label:
            text = ""  # the first deployment
        elif layouts_label == first_layouts_label:
            text = NO_RECORD
        else:
            text = FLOORS if desired["floors"] else ASKS
        if text:
            pulumi.log.info(text, resource=parent)

    def event_of(resolved: Sequence[Any]) -> str:
        record, default, labels, layouts_label, first_layouts_label = resolved
        of_tables = {"tableLabels": labels, "layoutsLabel": layouts_label, "firstLayoutsLabel": first_layouts_label}
        return event({**desired, "defaultCounter": default, **of_tables}, record, int(time.time()))

    if pulumi.runtime.is_dry_run():
        # What the deployment will create has no label yet, and no record.
        known = {region: if_known(label, str) for region, label in labels.items()}
        records = [if_known(found, StoredRecord) for found in (record, mirrored)]
        texts = [if_known(text, str) for text in (default_counter, layouts_label, first_layouts_label)]
        pulumi.Output.all(*records, pulumi.Output.from_input(known), *texts).apply(say)
    return pulumi.Output.all(
        record, default_counter, pulumi.Output.from_input(labels), layouts_label, first_layouts_label
    ).apply(event_of)


def same_home(label: str, home: str) -> str:
    """Return the label of the first layouts table, or fail if it was not in the home region of the settings."""
    _check_home(label.partition(" ")[0], home)
    return label


def unchanged_name(name: str, expected: str) -> str:
    """Return the layouts table's name, or fail if another prefix makes another of it (`expected`)."""
    if name != expected:
        first, now = name.removesuffix("-layouts"), expected.removesuffix("-layouts")
        raise SettingsError(
            f"prefix: this stack is deployed as {first!r} and can't be renamed to {now!r}, because that would replace "
            "its tables; give the project and the stack their old names again (`pulumi stack rename`), or set the "
            f"argument prefix={first!r}"
        )
    return name


def at_home(layouts_arn: str, home: str) -> str:
    """Return the ARN of the layouts table, or fail if it is not in the home region of the settings."""
    _check_home(layouts_arn.split(":")[3], home)
    return layouts_arn


def _check_home(first: str, home: str) -> None:
    if first != home:
        raise SettingsError(
            f"aws:region: the home region was {first} and can't be moved to {home}; set it back to {first}"
        )


def record_in(table_arn: str, parent: pulumi.Resource) -> pulumi.Output[StoredRecord | None]:
    """Return the record in the layouts table, or its copy in the mirror; None if the table has none."""
    found = aws.dynamodb.get_table_item_output(
        table_name=table_arn.rpartition("/")[2],
        region=table_arn.split(":")[3],
        key=json.dumps({"counter": {"S": RECORD_KEY}}),
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    item = found.apply(lambda found: cast("str | None", found.item))
    return item.recover(_missing).apply(lambda item: record_of(item) if item else None)


def _missing(error: Exception) -> None:
    """Accept that there is no record ("empty result"): then no call to AWS has failed.

    The words are those of `findTableItem` in terraform-provider-aws, which says so of ResourceNotFoundException.
    """
    if "couldn't find resource" in str(error):
        raise pulumi.RunError(f"a table is gone: run `pulumi up --refresh`, which recreates it ({error})")
    if "operation error" in str(error):
        raise pulumi.RunError(f"the record of the last deployment can't be read: {error}")


def _check_that_regions_leave(desired: Mapping[str, Any], record: StoredRecord | None) -> StoredRecord | None:
    gone = _without(record.desired["regions"] if record else (), [*desired["regions"], *desired["leaving"]])
    if gone:
        raise SettingsError(
            f"regions: {', '.join(gone)}: tables are protected here, so a region can't be removed before it has left. "
            "Set these two and deploy:\n"
            f"  leaving: {json.dumps([*desired['leaving'], *gone])}\n"
            f"  regions: {json.dumps(desired['regions'])}\n"
            f"Then remove {', '.join(gone)} from leaving and deploy again."
        )
    return record


def if_known(output: pulumi.Output[Any], kind: type[T]) -> pulumi.Output[T | None]:
    """Return an output's value, or None where a preview doesn't know it: what has it is about to be created."""
    return output.apply(lambda value: value if isinstance(value, kind) else None, run_with_unknowns=True)
