"""The record of the last deployment, and the event that the next one sends to the coordinator.

A desired state is what a deployment asks for. The coordinator keeps the last one that it accepted in the record, with
the number of that deployment. It accepts the next deployment only if that names this number. So an outdated one is
refused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
