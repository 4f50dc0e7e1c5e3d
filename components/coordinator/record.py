"""The record of the last deployment: the event of the next one, and what that one changes.

A desired state is what a deployment asks for. The coordinator keeps the last one that it accepted in the record, with
the number of that deployment. It accepts the next deployment only if that names this number. So an outdated one is
refused.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from integers.names import CHECK_COUNTER

from ..settings.values import canonical


@dataclass(frozen=True)
class StoredRecord:
    """What the last accepted deployment asked for, and what became of it."""

    number: int
    """1, 2, 3, …: each accepted deployment gets the next number."""
    follows: int
    """The number that this deployment read before; 0 if there was none."""
    asked: int
    """When it was asked for, in seconds since 1970."""
    desired: Mapping[str, Any]
    reconciled: bool
    """Whether the coordinator has carried it out."""
    report: Mapping[str, Any]
    """`counters`: name → its `epoch` and `base`."""


def record_of(item: str) -> StoredRecord:
    """Read the record from its item: a JSON object of DynamoDB attributes."""
    attributes = json.loads(item)
    return StoredRecord(
        number=int(attributes["number"]["N"]),
        follows=int(attributes["follows"]["N"]),
        asked=int(attributes["asked"]["N"]),
        desired=json.loads(attributes["wish"]["S"]),
        reconciled=attributes["settled"]["BOOL"],
        report=json.loads(attributes.get("report", {}).get("S") or "{}"),  # empty until it is carried out
    )


def event(desired: Mapping[str, Any], record: StoredRecord | None, now: int) -> str:
    """Return the event of a deployment, as canonical JSON.

    If the record asks for the same, this is the event that it was accepted by. Where that has succeeded, Pulumi sees
    no change, and doesn't call the coordinator. Where it hasn't, Pulumi has not kept the event, and sends it again,
    at any age. Otherwise the event is a new one.

    Args:
        desired: what is asked for.
        record: what the last deployment asked for; None if there is none.
        now: seconds since 1970.
    """
    follows, asked = (record.number if record else 0), now
    if record and record.desired == desired:
        follows, asked = record.follows, record.asked
    return canonical({"wish": desired, "follows": follows, "asked": asked})


def dropped(desired: Mapping[str, Any], record: StoredRecord | None) -> list[str]:
    """Return the regions that were in the layout and are neither in it nor leaving now."""
    before: Sequence[str] = record.desired["regions"] if record else ()
    return [region for region in before if region not in (*desired["regions"], *desired["leaving"])]


MOST = 10
"""How many counters are named. There may be hundreds."""

NO_RECORD = (
    "there is no record of a finished deployment: the first one was interrupted, and is continued; or someone has "
    "deleted the layouts table, and `pulumi up --refresh` is needed"
)

NUMBERS = {"window": "window", "headroom": "headroom", "watchMinutes": "watch minutes"}


def changes(desired: Mapping[str, Any], record: StoredRecord | None) -> str:
    """Return what will change, in one line; empty if nothing will.

    Args:
        desired: what is asked for. A table that is created by this deployment has an empty label in it.
        record: what the last deployment asked for; None if there is none.
    """
    return "; ".join(_changes(desired, record)) if record else NO_RECORD


def _changes(desired: Mapping[str, Any], record: StoredRecord) -> Iterator[str]:
    before = record.desired
    if not record.reconciled:
        same = all(before.get(key) == desired[key] for key in desired)
        again = "is continued" if same else "is replaced by this one"
        yield f"deployment {record.number} is not finished, and {again}"
    yield from _epochs(desired, record)
    regions = [*desired["regions"], *desired["leaving"]]
    yield from _listed("joining", _without(desired["regions"], before["regions"]))
    gone = _without(before["regions"], desired["regions"])
    yield from _listed("leaving", [region for region in gone if region in desired["leaving"]])
    yield from _listed(
        "deleted at once, with their URLs (list them in leaving instead)", _without(gone, desired["leaving"])
    )
    yield from _listed("deleted", _without(before["leaving"], regions))
    yield from _listed(
        "new counters", _without(desired["counters"], [*before["counters"], *_reported(record), CHECK_COUNTER])
    )
    kept = [counter for counter in before["counters"] if counter in _reported(record)]
    yield from _listed("no longer in the settings, but still minting", _without(kept, desired["counters"]))
    floors = {counter: n for counter, n in desired["floors"].items() if before["floors"].get(counter) != n}
    yield from _listed("floors", [f"{counter} {n:,}" for counter, n in sorted(floors.items())])
    for key, words in NUMBERS.items():
        if before[key] != desired[key]:
            later = " (from each counter's next epoch on)" if key == "window" and desired[key] < before[key] else ""
            yield f"{words}: {before[key]:,} → {desired[key]:,}{later}"


def _epochs(desired: Mapping[str, Any], record: StoredRecord) -> Iterator[str]:
    """Say which counters begin another epoch: all of them, if the regions differ or a table was lost."""
    before = record.desired
    stride = len(before["regions"])
    lost = [region for region in before["regions"] if _is_lost(region, desired["tables"], before["tables"])]
    if not lost and before["regions"] == desired["regions"]:
        return
    # The new epoch lies above what each region may still mint; where a table is lost, above all it ever might have.
    gap = f"up to {stride * before['window']:,}" if lost else f"about {stride * desired['headroom']:,}"
    counters = _reported(record)
    for name in sorted(counters)[:MOST]:
        epoch = counters[name]["epoch"]
        yield f"{name}: epoch {epoch} → {epoch + 1}, gap {gap}"
    if len(counters) > MOST:
        yield f"{len(counters) - MOST} more counters likewise"
    yield from _listed("lost tables", lost)


def _is_lost(region: str, tables: Mapping[str, str], before: Mapping[str, str]) -> bool:
    """Return whether a region has another table than before. One that is no longer asked for doesn't count."""
    return region in tables and region in before and tables[region] != before[region]


def _reported(record: StoredRecord) -> Mapping[str, Any]:
    return record.report.get("counters", {})


def _without(values: Sequence[str], others: Iterable[str]) -> list[str]:
    return [value for value in values if value not in set(others)]


def _listed(what: str, values: Sequence[str]) -> Iterator[str]:
    if values:
        yield f"{what}: {', '.join(values)}"
