"""Moves the home region: another one takes record and registers from tables in which nobody can change them any more.

A claim stands in each former home in place of what identifies the record, which every write of a register, of the
record and of its copy compares. So what is read after the claim is the last that was written. It is copied into the new
home's mirror, the record last, and put back from there, as after any loss of a layouts table. Each region has on record
which one is the home, so that a deployment finds what it moves.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from . import operations as op
from . import refusals
from .model import TAKEN, Absent, Admitted, Claim, Copy, Deploy, DeploymentRecord
from .operations import Steps, one


class Left(NamedTuple):
    """What a region has that is or was the home, or began to be."""

    admitted: Admitted | Claim | None
    record: DeploymentRecord | None
    copy: Copy[DeploymentRecord] | None
    layouts_id: str
    mirror_id: str

    @property
    def records(self) -> list[DeploymentRecord]:
        """The record and its copy, as far as they are there, whether their tables prove them or not."""
        return [each for each in (self.record, self.copy and self.copy.original) if each]

    @property
    def claim(self) -> Claim | None:
        """The claim of another home. If the layouts table was lost, its mark is still in the mirror."""
        claim, taken, _ = (self.copy.mirror_id if self.copy else "").rpartition(TAKEN)
        marked = Claim(*json.loads(claim)) if taken else None
        return self.admitted if isinstance(self.admitted, Claim) else marked

    @property
    def last(self) -> DeploymentRecord | None:
        """Of the records that its tables prove, the one of the last term."""
        copied = self.copy and self.copy.mirror_id.rpartition(TAKEN)[2] == self.mirror_id and self.copy.original
        stored = self.record and self.record.layouts_id == self.layouts_id and self.record
        return max((each for each in (stored, copied) if each), key=lambda each: each.term, default=None)


LATEST = 3 * 3600
"""Seconds after which a deployment is too old to be admitted: far more than one lasts."""


def check_age(deployment: Deploy) -> Steps[None]:
    """Refuse a deployment that is too old."""
    now = yield from one(op.Clock())
    if abs(now - deployment.requested) > LATEST:
        raise refusals.outdated(deployment.requested, now)


def stays(admitted: Admitted | Claim | Absent | None) -> None:
    """Raise `Elsewhere` if another region is the home."""
    if isinstance(admitted, Claim):
        raise refusals.elsewhere(admitted.home)


def record_home(regions: Sequence[str], term: int) -> Steps[None]:
    """Have regions record this home, in this term. Raise `Elsewhere` if one knows a later home."""
    answers = yield [op.RecordHome(region, term) for region in regions]
    if False in answers:
        stays((yield from one(op.ReadHome(regions[answers.index(False)]))))


def take(
    deployment: Deploy, run: str, record: DeploymentRecord | None = None
) -> Steps[tuple[int, Sequence[str]] | None]:
    """Claim every other home. Then copy the last record, with its registers, into this one's mirror.

    Return None if there is more to see. If no table proves the last record, return the term of this home's first
    record, and the homes that don't answer or lack a table. Where this home has a `record`, nothing is done unless a
    region knows a later home, or another one of this term. No other run has the random `run`.

    Raises:
        Refused: the deployment is outdated, or something is in the way that can't be read, or is another stack's.
    """
    desired, here = deployment.desired, deployment.desired.home
    known = [each for each in (yield [*map(op.ReadHome, desired.everywhere)]) if isinstance(each, Claim)]
    if record and not any((each.term, each.home != here) > (record.term, False) for each in known):
        return record.term, ()
    left = yield from _all_left([here, desired.first_home, *(each.home for each in known)])
    found = {home: its for home, its in left.items() if its}
    records = {home: its.last for home, its in found.items() if its.last}
    source = max(records, key=lambda home: records[home].term, default=here)
    claims = [its.claim for its in found.values() if its.claim]
    unseen = max([0, *(each.term for each in known), *(each.term - _is_void(each, found) for each in claims)])
    last = records[source] if source in records and records[source].term >= unseen else None
    if strange := [at for at, its in records.items() if its.desired.first_layouts_label != desired.first_layouts_label]:
        raise refusals.another_stacks(strange[0])
    if last is None or desired.text != last.desired.text:
        yield from check_age(deployment)
        if last and last.token != deployment.follows:
            raise refusals.superseded(last.desired.regions, source if source != here else "")
    term = 1 + (last.term if last else unseen)
    claim = Claim(here, term, run, tuple(sorted(left)), (found[here].layouts_id, found[here].mirror_id))
    # This home, too: its claim leads to the others; and it may be one that was given up, and is back with all it had.
    unclaimed = {home: its for home, its in found.items() if its.admitted != claim and (last or len(found) > 1)}
    silent = sorted(left.keys() - found.keys())
    if last is None and (silent or not unclaimed):
        known += [*claims, *(Claim(home, each.term) for home, its in found.items() for each in its.records)]
        return max([1, *(each.term + (each.home != here) for each in known)]), silent
    if unclaimed:
        writes = [op.WriteClaim(its.admitted, claim, its.copy, _taken(its, claim)) for its in unclaimed.values()]
        yield [at(home, here, write) for home, write in zip(unclaimed, writes, strict=True)]
    elif last:
        # With this event: if nothing else has changed, the next deployment finds it, and asks for nothing.
        event = {"follows": deployment.follows, "requested": deployment.requested}
        yield from _copy(source, here, found, replace(last, term=term, **event))
    return None


def _copy(source: str, here: str, found: Mapping[str, Left], record: DeploymentRecord) -> Steps[None]:
    """Copy a record of `source`, after its registers, into the mirror here."""
    its, own = found[source], found[here]
    reads = (at(source, here, op.ScanRegisters()), at(source, here, op.ScanCopies()), op.ScanCopies())
    answers: Any = yield reads
    # After the scan: so nobody else has put a later copy there.
    if Absent.UNREACHABLE in answers or (yield from one(op.ReadAdmitted())) != own.admitted:
        return
    registers, copies, mine = answers
    latest = {name: each.original for name, each in copies.items() if getattr(each, "mirror_id", "") == its.mirror_id}
    if record.layouts_id == its.layouts_id:  # else the mirror alone proves the record, and they may be older
        latest |= {name: each for name, each in registers.items() if getattr(each, "layouts_id", "") == its.layouts_id}
    if stray := [name for name in latest if mine.get(name) is Absent.STRAY]:
        raise refusals.stray(stray[0], "the mirror")
    if all((yield [op.WriteCopy(mine.get(name), Copy(each, own.mirror_id)) for name, each in latest.items()])):
        yield [op.WriteRecordCopy(own.copy, Copy(record, own.mirror_id), own.admitted)]


def at(home: str, here: str, operation: op.Operation) -> op.Operation:
    """Return what carries an operation out in a home that may be another one than this."""
    return operation if home == here else op.AtHome(home, operation)


def _all_left(named: Sequence[str]) -> Steps[dict[str, Left | None]]:
    """Return what is left in these homes, the first of which is this one, and in all to which claims lead.

    None of one that doesn't answer, or of which a table is gone.
    """
    left: dict[str, Left | None] = {}
    homes = [*named]
    for home in homes:
        if home not in left:
            its = left[home] = yield from _left_in(home, named[0])
            homes += [its.claim.home, *its.claim.others] if its and its.claim else []
    return left


def _left_in(home: str, here: str) -> Steps[Left | None]:
    """Return what is left in one home; None if it doesn't answer, or if one of its tables is gone."""
    found: list[Any] = []
    for read in (op.ReadAdmitted(), op.ReadRecord(), op.ReadRecordCopy(), op.DescribeLayouts(), op.DescribeMirror()):
        found += yield [at(home, here, read)]
    if Absent.STRAY in found[:1]:
        raise refusals.stray_admitted()
    return None if {Absent.UNREACHABLE, Absent.GONE}.intersection(found) else Left(*found)


def _is_void(claim: Claim, found: Mapping[str, Left]) -> bool:
    """Return whether a claim has led to nothing, as the tables show to which the record would have been written."""
    its = found.get(claim.home)
    there = its is not None and {its.layouts_id, its.mirror_id}.intersection(claim.tables)
    return bool(its and there and (its.last is None or its.last.term < claim.term))


def _taken(its: Left, claim: Claim) -> Copy[DeploymentRecord] | None:
    """Return the copy of the record marked with a claim: it proves nothing any more where it is."""
    copy = its.copy or (its.record and Copy(its.record, ""))
    return copy and Copy(copy.original, f"{json.dumps(claim)}{TAKEN}{copy.mirror_id.rpartition(TAKEN)[2]}")
