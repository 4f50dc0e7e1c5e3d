"""What a deployment asks the coordinator for, by the settings and the record of the deployment before.

The coordinator admits a deployment only if it names the token in the record. So an outdated one is refused.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pulumi
import pulumi_aws as aws

from global_integers_core.lattice import least_distance
from global_integers_core.names import CHECK_COUNTER, NAMED
from global_integers_core.records import ADMITTED_KEY, HOME_KEY, RECORD_KEY, regions_of

from ..names import ResourceNames
from ..settings import NOT_IN_PROJECT_NAMESPACE, SettingsError
from ..settings.values import canonical, did_you_mean, written

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
    reconciled: bool
    counters: Mapping[str, Any]
    """Name → its `epoch` and `base`; empty until it is carried out."""
    term: int
    """Of its home region: 1, 2, 3, …"""
    windows: Mapping[str, int]
    """Name → its window, of the first counters by name, if it isn't the smallest one."""


def record_of(item: str, table: str) -> StoredRecord:
    """Read the record from its item in a table: a JSON object of DynamoDB attributes.

    Raises:
        RunError: an attribute is missing or wrong.
    """
    attributes = json.loads(item)
    try:
        desired, report = (json.loads(attributes[name]["S"]) for name in ("desired", "report"))
        _ = desired["recovery"]
        return StoredRecord(
            token=attributes["token"]["S"],
            number=int(attributes["number"]["N"]),
            follows=attributes["follows"]["S"],
            requested=int(attributes["requested"]["N"]),
            desired=desired,
            reconciled=attributes["reconciled"]["BOOL"],
            counters=report.get("counters", {}),
            term=int(attributes["term"]["N"]),
            windows=report.get("windows", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise pulumi.RunError(
            f"the deployment record in {table} can't be read: an attribute is missing or wrong. If a version before "
            "1.0.0 wrote it, deploy a new stack. Otherwise, see docs/runbook.md#a-stray-item"
        ) from error


def event(
    desired: Mapping[str, Any],
    record: StoredRecord | None,
    copy: StoredRecord | None,
    now: int,
    former: StoredRecord | None = None,
) -> str:
    """Return the event of a deployment, as canonical JSON. `now` is in seconds since 1970.

    If the record asks for the same, this is the event that it was admitted by. Where that has succeeded, Pulumi sees
    no change, and doesn't call the coordinator. Where it hasn't, Pulumi has not kept the event, and sends it again,
    at any age. Otherwise the event is a new one. It follows the record, or its `copy` in the mirror, which is about to
    be put back, if the layouts table has none, or one that was written in another table; or the record of a `former`
    home, if that is a later one. A home that must be taken over, or taken back, is always asked.
    """
    if record and is_admitted(desired, record, former):
        return canonical({"desired": desired, "follows": record.follows, "requested": record.requested})
    here = record is not None and record.desired["layoutsLabel"] == desired["layoutsLabel"]
    # After a loss or a move, any of them may be an older one.
    known = record if here and last(record, former) is record else last(copy, record, former)
    return canonical({"desired": desired, "follows": known.token if known else "", "requested": now})


def is_admitted(desired: Mapping[str, Any], record: StoredRecord | None, former: StoredRecord | None) -> bool:
    """Return whether the record asks for the same, so that the event is no new one."""
    return record is not None and former is None and record.desired == desired


def last(*records: StoredRecord | None) -> StoredRecord | None:
    """Return the last of these records, which are of several tables and home regions."""
    return max(filter(None, records), key=lambda each: (each.term, each.number), default=None)


GIVEN_UP = "a move of the home region was not finished, and is given up"

NO_RECORD = "the first deployment was interrupted, and is continued"

PUT_BACK = "the layouts table has no record of the last deployment, and gets its copy in the mirror"

BOTH_LOST = "the layouts table and the mirror were lost"

ASKS = (
    f"{BOTH_LOST}, or none of these regions knows which one was the home until now: the coordinator will say how to go "
    "on (docs/runbook.md#two-losses-at-once)"
)

ANSWERED = f"{BOTH_LOST}: the coordinator checks the answer in recovery; counters go on by it only if it is right"

NUMBERS = {"window": "window", "scheduleMinutes": "schedule minutes", "memorySize": "memory in MB"}

CALLERS: Mapping[str, Mapping[Any, str]] = {
    "authorization": {
        "AWS_IAM": "requests without a signature will get 403: those of browsers, also for the page, and of clients "
        "without credentials of AWS",
        "NONE": "everyone will be able to mint",
    },
    "functionUrls": {
        False: "all Function URLs will be deleted, and later ones will be others",
        True: "every region will get a new one",
    },
    "openCounters": {
        False: "callers won't be able to create or list counters",
        True: "every caller will be able to create and list counters",
    },
}
"""Setting → what its new value means to them."""

Issued = Mapping[str, int | None]
"""Counter → the last integer that was issued of it; None if a region doesn't say."""


def changes(desired: Mapping[str, Any], record: StoredRecord, issued: Issued) -> str:
    """Return what will change, in one line; empty if nothing will. Tables that don't exist yet have no label.

    The record doesn't know which counters were created without a deployment. `issued` has the first `NAMED` counters
    that are `raised`.
    """
    return "; ".join(_changes(desired, record, issued))


def _changes(desired: Mapping[str, Any], record: StoredRecord, issued: Issued) -> Iterator[str]:
    before = {**desired, **record.desired}  # an older record lacks some
    if not record.reconciled:
        same = all(record.desired.get(key) == desired[key] for key in desired)
        again = "is continued" if same else "is replaced by this one"
        yield f"deployment {record.number} is not finished, and {again}"
    default, earlier = desired["defaultCounter"], before["defaultCounter"]
    if default != earlier:
        yield f"/ will mint from {default} instead of {earlier}: its callers may get integers that they got before"
    for key, meanings in CALLERS.items():
        was, asked = before[key], desired[key]
        if was != asked:
            yield f"{key}: {written(was)} → {written(asked)}: {meanings[asked]}"
    was, host = before["domain"], desired["domain"]
    if was != host:
        means = f"requests to {was} and to names below it will fail" if was else "all regions get this name too"
        yield f"domain: {was or 'none'} → {host or 'none'}: {means}"
    yield from _callers(desired["callers"], before["callers"], (*desired["counters"], *record.counters))
    yield from _epochs(desired, record, issued)
    gone = _without(before["regions"], desired["regions"])
    existing = [counter for counter in before["counters"] if counter in record.counters]
    floors = {counter: n for counter, n in desired["floors"].items() if before["floors"].get(counter) != n}
    answer = desired["recovery"]
    ended = [region for region in before["paused"] if region in desired["regions"]]
    lists = {
        "joining": _without(desired["regions"], before["regions"]),
        "leaving": [region for region in gone if region in desired["leaving"]],
        "deleted at once, with their URLs (list them in leaving instead)": _without(gone, desired["leaving"]),
        "deleted": _without(before["leaving"], [*desired["regions"], *desired["leaving"]]),
        "paused, so that they mint nothing": _without(desired["paused"], before["paused"]),
        "paused no longer": _without(ended, desired["paused"]),
        "new counters": _without(desired["counters"], [*before["counters"], *record.counters, CHECK_COUNTER]),
        "no longer in the settings, but still minting": _without(existing, desired["counters"]),
        "floors": [_floor(counter, n, desired, record, issued) for counter, n in sorted(floors.items())],
        "recovery": [answer["loss"]] if answer and answer != before["recovery"] else [],
    }
    yield from (f"{what}: {', '.join(values)}" for what, values in lists.items() if values)
    for key, words in NUMBERS.items():
        if before[key] != desired[key]:
            yield f"{words}: {before[key]:,} → {desired[key]:,}"


def _callers(
    asked: Mapping[str, Sequence[str]], before: Mapping[str, Sequence[str]], counters: Sequence[str]
) -> Iterator[str]:
    """Say who loses what by `callers`, and which counters it names that may be misspelt."""
    if asked and not before:
        yield "callers: none → some: all others will get 403"
    elif before and not asked:
        yield (
            "callers: some → none: those of other accounts will get 403, and whoever IAM allows in this account will "
            "be able to use all counters"
        )
    else:
        removed = {
            pattern: ["all others"] if "*" in names and now else _without(names, now)
            for pattern, names in before.items()
            if "*" not in (now := asked.get(pattern, ()))
        }
        lost = [f"{pattern} ({', '.join(names)})" for pattern, names in removed.items() if names]
        if lost:
            yield f"callers that will get 403, unless another entry allows it: {', '.join(lost)}"
    new = [each for pattern, names in asked.items() for each in _without(names, before.get(pattern, ()))]
    for counter in _without(list(dict.fromkeys(new)), ("*", *counters)):
        hint = did_you_mean(counter, counters)
        yield f"callers: there is no {counter}, unless it was created without a deployment{hint}"


def check_first(desired: Mapping[str, Any], record: StoredRecord | None) -> None:
    """Check what can't be done to a region, or to a counter, that is new. At a first deployment, all are.

    Raises:
        SettingsError: a new region is paused, or a floor is of a counter that can't exist.
    """
    before = [*record.desired["regions"], *record.desired["leaving"]] if record else []
    joining = _without(desired["regions"], before)
    paused = [region for region in desired["paused"] if region in joining]
    if paused:
        raise SettingsError(
            f"paused: {', '.join(paused)}: a new region can't be paused, since its function is checked before callers "
            "reach it for the first time; deploy without this, and pause it afterwards"
        )
    stray = [] if record else _without(sorted(desired["floors"]), ("*", *desired["counters"]))
    if stray:
        raise SettingsError(
            f"floors: {stray[0]!r} is not in counters, and at a first deployment there are no others"
            f"{did_you_mean(stray[0], desired['counters'])}"
        )


def _floor(counter: str, floor: int, desired: Mapping[str, Any], record: StoredRecord, issued: Issued) -> str:
    """Return a new floor, and whether its counter is above it already. `*` has no counter of its own."""
    known = (*desired["counters"], *record.counters)
    if counter not in ("*", *known):
        unless = f"unless {counter} was created without a deployment{did_you_mean(counter, known)}"
        return f"{counter} {floor:,} is refused, {unless}"
    base, last = record.counters.get(counter, {}).get("base", 0), issued.get(counter) or 0
    if max(base, last) < floor:
        return f"{counter} {floor:,}"
    but = "" if base >= floor else " but the gap"
    return f"{counter} {floor:,} has no effect{but}: it is at {max(base, last):,} already"


def raised(desired: Mapping[str, Any], record: StoredRecord) -> list[str]:
    """Return the counters, by name, that begin another epoch because of their floors."""
    return [name for name in sorted(record.counters) if _floor_of(name, desired) > record.counters[name]["base"]]


def _floor_of(counter: str, desired: Mapping[str, Any]) -> int:
    return desired["floors"].get(counter, desired["floors"].get("*", 0))


def _epochs(desired: Mapping[str, Any], record: StoredRecord, issued: Issued) -> Iterator[str]:
    """Say which counters begin another epoch: all of them, if the regions differ or a table was lost."""
    before = record.desired
    both = desired["tableLabels"].keys() & before["tableLabels"].keys()
    lost = [
        each
        for each in before["regions"]
        if each in both and desired["tableLabels"][each] != before["tableLabels"][each]
    ]
    stay = [region for region in before["regions"] if region in desired["regions"]]
    now = [region for region in desired["regions"] if region in stay]
    if now != stay:
        yield f"order of regions: {', '.join(stay)} → {', '.join(now)}"
    every = bool(lost) or before["regions"] != desired["regions"]
    names = sorted(record.counters) if every else raised(desired, record)
    for name in names[:NAMED]:
        epoch = record.counters[name]["epoch"]
        yield f"{name}: epoch {epoch} → {epoch + 1}, gap {_gap(name, desired, record, issued, lost=bool(lost))}"
    if len(names) > NAMED:
        yield f"{len(names) - NAMED} more counters likewise"
    if every:
        yield "the same for counters that aren't in the settings"
    if lost:
        yield f"lost tables: {', '.join(lost)}"


def _gap(counter: str, desired: Mapping[str, Any], record: StoredRecord, issued: Issued, *, lost: bool) -> str:
    """Return how many integers are skipped, in words.

    The new epoch lies above its floor, and above what each region may still mint; where a table is lost, above all it
    ever might have.
    """
    base, last = record.counters[counter]["base"], issued.get(counter)
    gap = len(record.desired["regions"]) * (_window(counter, record) if lost else least_distance(desired["window"]))
    to_floor = _floor_of(counter, desired) - (base if last is None else last + 1)
    if to_floor > gap:
        return f"{'up to' if last is None else 'about'} {to_floor:,}"
    if lost:
        return f"up to {gap:,}, or more after a burst since the last run"
    return f"about {gap:,}, or what lasts ten seconds"


def _window(counter: str, record: StoredRecord) -> int:
    return record.windows.get(counter, record.desired["window"])


def moves(former: str, home: str, *, protect: bool) -> str:
    """Return what a deployment says that moves the home region."""
    left = f" (run it twice: the next deployment protects it, and deletes what {former} has left)" if protect else ""
    return f"home: {former} → {home}{left}"


def without_home(record: StoredRecord) -> str:
    """Return how much each region can mint without the home region, by counter."""
    each = [f"{counter} {_window(counter, record):,}" for counter in sorted(record.counters)[:NAMED]]
    more = ["all others the same or more"] if len(record.counters) > NAMED else []
    return f"at the last run, each region could mint without the home region about: {', '.join([*each, *more])}"


def _without(values: Sequence[str], others: Iterable[str]) -> list[str]:
    return [value for value in values if value not in set(others)]


def request(
    parent: pulumi.Resource,
    home: str,
    desired: Mapping[str, Any],
    record: pulumi.Output[StoredRecord | None],
    copy: pulumi.Output[StoredRecord | None],
    tables: Mapping[str, aws.dynamodb.Table],
    *,
    counters_table: str,
    protect: bool,
    layouts_label: pulumi.Output[str],
    first_layouts_label: pulumi.Output[str],
    former: "FormerHome | None",
) -> pulumi.Output[str]:
    """Return the coordinator's event. A preview says in words what it will change.

    `desired` is what the settings ask for (`desired_state_of`), `copy` the mirror's copy of the record.
    The event also has the stream labels of the tables, so that a recreated table changes it. The output fails if a
    protected region would be deleted without having left.
    `layouts_label` is the home region with the label of its layouts table, `first_layouts_label` what it was when the
    stack was first deployed.
    """
    moved = former.record if former else None
    if protect:
        record = record.apply(lambda record: _check_that_regions_leave(desired, record, moved))
    labels = {region: table.stream_label for region, table in tables.items()}

    def say(resolved: Sequence[Any]) -> None:
        record, copy, issued, labels, layouts_label, first_layouts_label = resolved
        known = last(record, copy, moved)
        if known or not first_layouts_label:
            check_first(desired, known)
        if former:
            record = former.record
            what = changes({**desired, "tableLabels": labels}, record, issued)
            moving = moves(former.region, home, protect=protect) if former.region != home else GIVEN_UP
            text = "; ".join(filter(None, [moving, what]))
        elif record:
            text = changes({**desired, "tableLabels": labels}, record, issued)
        elif copy:
            text = PUT_BACK
        elif not first_layouts_label:
            floors = [f"{counter} {floor:,}" for counter, floor in sorted(desired["floors"].items())]
            text = f"the first deployment; floors: {', '.join(floors)}" if floors else ""
        elif layouts_label == first_layouts_label:
            text = NO_RECORD
        else:
            text = ANSWERED if desired["recovery"] else ASKS
        if text:
            pulumi.log.info(text, resource=parent)
        if record and record.counters:
            pulumi.log.info(without_home(record), resource=parent)

    def read_issued(record: StoredRecord | None) -> pulumi.Output[dict[str, int | None]]:
        if record is None:
            return pulumi.Output.from_input({})
        names, regions = raised(desired, record)[:NAMED], record.desired["regions"]
        items = [last_issued(name, counters_table, regions, parent) for name in names]
        return pulumi.Output.all(*items).apply(lambda found: dict(zip(names, found, strict=True)))

    def event_of(resolved: Sequence[Any]) -> str:
        record, copy, labels, layouts_label, first_layouts_label = resolved
        of_tables = {"tableLabels": labels, "layoutsLabel": layouts_label, "firstLayoutsLabel": first_layouts_label}
        asked = {**desired, **of_tables}
        if pulumi.runtime.is_dry_run() and not is_admitted(asked, record, moved):
            return cast("str", pulumi.UNKNOWN)  # or `pulumi up --plan` would refuse the time at which it runs
        return event(asked, record, copy, int(time.time()), moved)

    if pulumi.runtime.is_dry_run():
        # What the deployment will create has no label yet, and no record.
        known = {region: if_known(label, str) for region, label in labels.items()}
        records = [if_known(found, StoredRecord) for found in (record, copy)]
        issued = records[0].apply(lambda found: read_issued(moved or found))
        texts = [if_known(text, str) for text in (layouts_label, first_layouts_label)]
        pulumi.Output.all(*records, issued, pulumi.Output.from_input(known), *texts).apply(say)
    return pulumi.Output.all(record, copy, pulumi.Output.from_input(labels), layouts_label, first_layouts_label).apply(
        event_of
    )


def unchanged_name(name: str, expected: str) -> str:
    """Return the layouts table's name, or fail if another prefix makes another of it (`expected`)."""
    if name != expected:
        first, now = name.removesuffix("-layouts"), expected.removesuffix("-layouts")
        of_stack = now == f"{pulumi.get_project()}-{pulumi.get_stack()}"  # which can't set a prefix
        raise SettingsError(
            f"{NOT_IN_PROJECT_NAMESPACE['prefix'] if of_stack else 'prefix'}: this stack is deployed as {first!r} and "
            f"can't be renamed to {now!r}, because that would replace its tables; give the project and the stack their "
            f"old names again (`pulumi stack rename`){'' if of_stack else f', or set the argument prefix={first!r}'}"
        )
    return name


def record_in(table_arn: str, parent: pulumi.Resource) -> pulumi.Output[StoredRecord | None]:
    """Return the record in the layouts table, or its copy in the mirror; None if the table has none."""
    table = table_arn.rpartition("/")[2]
    item = _item(RECORD_KEY, table, table_arn.split(":")[3], parent).recover(_missing)
    return item.apply(lambda item: record_of(item, table) if item else None)


def last_issued(counter: str, table: str, regions: Sequence[str], parent: pulumi.Resource) -> pulumi.Output[int | None]:
    """Return the last integer that was issued of a counter in these regions; None if one of them doesn't say."""

    def issued_of(item: str | None) -> int | None:
        return int(json.loads(item or "")["issued"]["N"])

    found = [_item(counter, table, region, parent).apply(issued_of).recover(lambda _: None) for region in regions]
    return pulumi.Output.all(*found).apply(lambda issued: None if None in issued else max(issued))


def _item(key: str, table: str, region: str, parent: pulumi.Resource) -> pulumi.Output[str | None]:
    found = aws.dynamodb.get_table_item_output(
        table_name=table,
        region=region,
        key=json.dumps({"counter": {"S": key}}),
        opts=pulumi.InvokeOutputOptions(parent=parent),
    )
    return found.apply(lambda found: cast("str | None", found.item))


@dataclass(frozen=True)
class FormerHome:
    """The home region until now, which has the record of the last deployment.

    It may be that of the settings: if a move was given up, the home takes itself back.
    """

    region: str
    record: StoredRecord


GONE: dict[str, Any] = {}
"""Stands for an item whose table is gone. It is compared by identity: it is as empty as no item."""

NO_TABLE = "couldn't find resource"
"""What `findTableItem` in terraform-provider-aws says of ResourceNotFoundException."""


ReadItem = Callable[[str, str, str], Mapping[str, Any]]
"""Takes a table's name, its region, and a key. Returns an item as DynamoDB attributes: empty if there is none, or if
the region doesn't answer; `GONE` if there is no such table."""


def item_reader(names: ResourceNames, parent: pulumi.Resource) -> ReadItem:
    """Return what reads an item before any resource is registered. It raises `RunError` if it isn't allowed to."""

    def read(table: str, region: str, key: str) -> Mapping[str, Any]:
        try:
            found = aws.dynamodb.get_table_item(
                table_name=table,
                region=region,
                key=json.dumps({"receipt" if table == names.receipts_table else "counter": {"S": key}}),
                opts=pulumi.InvokeOptions(parent=parent),
            )
            return json.loads(found.item)
        except Exception as error:  # there is no such item, or the region doesn't answer
            if "AccessDenied" in str(error):
                raise pulumi.RunError(f"{table} in {region} can't be read (docs/permissions.md): {error}") from error
            return GONE if NO_TABLE in str(error) else {}

    return read


def former_home(names: ResourceNames, home: str, regions: Sequence[str], read: ReadItem) -> FormerHome | None:
    """Return the home region until now; None if the `home` of the settings is it, or if no record can be read.

    It is known before any resource is registered, since those of another home region are others. Regions have on record
    which one is the home, and a home that was claimed names others. They are asked only where `home` doesn't say that
    it is the home. Of their records, the last one counts.

    Raises:
        RunError: of its two tables, one is gone; or a table may not be read.
    """
    admitted = read(names.layouts_table, home, ADMITTED_KEY)
    if admitted and "home" not in admitted:
        return None
    on_record = (read(names.receipts_table, region, HOME_KEY) for region in regions)
    homes = list(dict.fromkeys([home, *(each["home"]["S"] for each in on_record if each)]))
    for each in homes:
        claim = admitted if each == home else read(names.layouts_table, each, ADMITTED_KEY)
        named = [claim["home"]["S"], *regions_of(claim.get("others", {"L": []}))] if "home" in claim else []
        homes += [region for region in dict.fromkeys(named) if region not in homes]
    tables = (names.layouts_table, names.mirror_table)
    items = {region: {table: read(table, region, RECORD_KEY) for table in tables} for region in homes}
    found = {
        region: record
        for region, its in items.items()
        if (record := last(*(record_of(json.dumps(item), table) for table, item in its.items() if item)))
    }
    region = max(found, key=lambda each: (found[each].term, found[each].number), default=None)
    if region is None or (region == home and not admitted):
        return None
    gone = [table for table, item in items[region].items() if item is GONE]
    if gone and region != home:
        raise pulumi.RunError(
            f"{gone[0]} in {region} is gone. Before the home region moves to {home}, deploy with {region} as the home "
            f"region once more, which recreates the table: `pulumi up --refresh -c aws:region={region}`"
        )
    return FormerHome(region, found[region])


def _missing(error: Exception) -> None:
    """Accept that there is no record ("empty result"): then no call to AWS has failed."""
    if NO_TABLE in str(error):
        raise pulumi.RunError(f"a table is gone: run `pulumi up --refresh`, which recreates it ({error})")
    if "operation error" in str(error):
        raise pulumi.RunError(f"the record of the last deployment can't be read: {error}")


def _check_that_regions_leave(
    desired: Mapping[str, Any], record: StoredRecord | None, former: StoredRecord | None = None
) -> StoredRecord | None:
    known = last(record, former)
    gone = _without(known.desired["regions"] if known else (), [*desired["regions"], *desired["leaving"]])
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
