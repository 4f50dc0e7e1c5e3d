"""Brings one counter to the layout that was asked for, while every region that answers goes on minting.

A counter is changed by rounds: `inspect`, then `step`, until nothing is left to do. It may stop anywhere and be run
again, and several runs may race: the register decides, and all of them carry out the same change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from . import operations as op
from . import refusals
from .epochs import apply_register, begin_next_epoch, hold_items, left_of, lost_register, recover
from .model import Absent, Copy, DeploymentRecord, Item, Refused, Register, loss_id
from .moves import stays
from .operations import Observation, Steps, one, read_items
from .plan import Apply, Asked, Change, End, Gone, Hold, Lost, MustAnswer, Reconciled, Unanswered, beginning, plan

ROUNDS = 100
"""How often a run looks again before it gives up. Each time, another run was faster, or one step was taken."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a counter: its register, the regions that have yet to follow, and whether this run created it."""

    register: Register
    pending: tuple[str, ...]
    created: bool = False


def reconcile(
    counter: str,
    run: str,
    record: DeploymentRecord,
    observation: Observation | None = None,
    asked: Asked = Asked(),  # noqa: B008 (it is immutable)
    scanned: Iterable[str] = (),
) -> Steps[Outcome | Gone]:
    """Bring a counter to the layout that the record asks for, delete it, or carry its deletion on.

    If something else than the record is admitted meanwhile, that is carried out. No other run has the random string
    `run`. `observation` is what a scan has found; a counter without a register may have items in any region that was
    `scanned`. What needs an operator is `Refused`. A counter of which nothing is found is created if that is asked for,
    or if the settings have it. A counter is deleted when it is reconciled: then its register is known to bound all that
    was minted.
    """
    state = _State(counter, run, record, observation, asked)
    state.scanned = scanned
    for number in range(ROUNDS):
        if (yield from state.inspect()):
            # No two items are ever held by one token.
            found = yield from state.step(f"{run}/{number}")
            if found is not None:
                return found
        elif state.gone:
            return Gone()
    raise Refused(f"{counter}: other runs were faster {ROUNDS} times. The next run continues where this one stopped.")


class _State:
    """What one run knows of one counter."""

    def __init__(
        self, counter: str, run: str, record: DeploymentRecord, observation: Observation | None, asked: Asked
    ) -> None:
        self._counter = counter
        self._run = run
        self._record = record
        self._observation = observation
        """What needs no second look, unless the register has changed since."""
        self._asked = asked
        self.scanned: Iterable[str] = ()
        """The regions of all registers."""
        self._created = False
        self._mirror_id = ""
        self._now = 0
        self.gone = False
        """Whether there is no such counter, and it may not be created."""

    def inspect(self) -> Steps[bool]:
        """Bring the register and its copy into order, then read what the regions have of the counter.

        Each of its writes ends the round. Return whether there was none, so that a step may follow.
        """
        counter, observation, self._observation = self._counter, self._observation, None
        copy = yield from one(op.ReadCopy(counter))  # first, or an older register could replace a newer copy
        register, admitted = yield [op.ReadRegister(counter), op.ReadAdmitted()]
        # After the reads: it is these tables' content.
        layouts_id, mirror_id, now = yield [op.DescribeLayouts(), op.DescribeMirror(), op.Clock()]
        self._mirror_id, self._now = mirror_id, now
        if isinstance(register, Absent) or isinstance(copy, Absent):
            raise refusals.stray(counter, "the layouts table" if isinstance(register, Absent) else "the mirror")
        if admitted != self._record.admitted:
            self._record = yield from _admitted()
            return False
        record = self._record
        if record.layouts_id != layouts_id:
            raise refusals.lost_meanwhile("layouts table")
        if register is None or register.layouts_id != layouts_id:
            yield from self._find(register)
            return False
        if copy is not None and copy.mirror_id == mirror_id and copy.original.is_ahead_of(register):
            # The copy was read first, so the register went backwards: somebody has put back older content in place.
            yield [op.WriteRegister(register, copy.original, record.admitted)]
            return False
        if copy != Copy(register, mirror_id):
            yield [op.WriteCopy(copy, Copy(register, mirror_id))]
            self._observation = observation  # nothing is done by a register before its copy is written
            return False
        if observation is None or observation.register != register:
            observation = Observation(register, {}, {})
        # A region may have been unreachable for another call than this one: a scan that was throttled, say.
        sure = {region for region, item in observation.items.items() if item is not Absent.UNREACHABLE}
        sure -= {region for region, id_ in observation.ids.items() if id_ is Absent.UNREACHABLE}
        regions = (*register.regions, *record.desired.everywhere)
        items, ids = yield from read_items([region for region in regions if region not in sure], counter)
        at = observation.at or now
        self._observation = Observation(register, {**observation.items, **items}, {**observation.ids, **ids}, at)
        return True

    def _find(self, register: Register | None) -> Steps[None]:
        """Write the register of a counter that has none in this layouts table: its copy, a new one, or a lost one."""
        counter, record = self._counter, self._record
        copy = yield from one(op.ReadCopy(counter))  # after the loss, or it might be outdated
        self._mirror_id = yield from one(op.DescribeMirror())
        if isinstance(copy, Absent):
            return
        if copy is not None and copy.mirror_id == self._mirror_id:  # the layouts table was lost; this was in it
            yield from self._write(register, replace(copy.original, layouts_id=record.layouts_id), copy)
            return
        # If what is found is another run's work, that run has written the register, and this one's write fails.
        items, _ = yield from read_items((*record.desired.everywhere, *self.scanned), counter)
        recorded = yield [op.ReadRecorded(region, counter) for region in items]
        layouts = [layout for each in recorded if not isinstance(each, Absent) for layout in each or ()]
        on_record = any(layout.epoch >= record.first_epoch for layout in layouts)  # others are of before an answer
        new, left = self._first(), left_of(register, copy, *items.values())
        # By a register that is fresh and has no copy, nothing was done: the run that wrote it was interrupted.
        fresh = [register] if copy is None and register is not None and register.is_fresh() else []
        if left != fresh or on_record or record.has_reported(counter):
            new = self._lost(left)
        elif register is not None:
            epoch, base = max(new.epoch, register.epoch + 1), max(new.base, register.limit + 1)
            new = beginning(counter, record, epoch, base, self._now)
        elif not self._asked.creates(counter, record):
            self.gone = True
            return
        self._created = (yield from self._write(register, new, copy)) or self._created

    def _first(self) -> Register:
        record = self._record
        base = max(record.first_base, record.desired.floor(self._counter))
        return beginning(self._counter, record, record.first_epoch, base, self._now)

    def _lost(self, left: Sequence[Register | Item]) -> Register:
        return lost_register(self._first(), loss_id(self._run, self._record), left, self._now)

    def step(self, token: str) -> Steps[Outcome | Gone | None]:
        """Take the next step by what was found. Return the outcome, or None if there is more to do."""
        assert self._observation is not None  # noqa: S101 (it was inspected)
        (register, items, ids, at), record, asked = self._observation, self._record, self._asked
        if asked.delete and self._counter in (*record.desired.counters, *record.desired.floors):
            raise refusals.in_settings([self._counter])
        following: Observation | None = None
        match plan(register, record, items, ids, self._now, asked):
            case Gone() as gone:
                return gone
            case Unanswered():
                raise refusals.lost(self._counter, register, items)
            case MustAnswer(silent):
                raise refusals.must_answer(silent, self._counter)
            case Reconciled(pending):
                if asked.delete:
                    raise refusals.undeletable(self._counter, pending)
                return Outcome(register, pending, self._created)
            case Apply() as applied:
                done = yield from apply_register(register, applied, items)
                if done and register.regions and not asked.delete:
                    return Outcome(register, applied.pending, self._created)
            case Lost():
                following = Observation(self._lost(left_of(register, *items.values())), {}, {})
            case End(doubted):
                following = yield from self._end(doubted=doubted)
            case Hold(missing):
                following = yield from hold_items(register, missing, items, ids, token)
            case Change(changed):
                following = Observation(changed, items, ids, at)
        self._observation = None
        if following is not None and (yield from self._write(register, following.register, self._copy_of(register))):
            self._observation = following
            self._created = self._created or not register.regions
        return None

    def _end(self, *, doubted: bool) -> Steps[Observation | None]:
        assert self._observation is not None  # noqa: S101 (it was inspected)
        (register, items, *_), record = self._observation, self._record
        regions = record.desired.regions
        if all(isinstance(items[region], Absent) for region in regions):  # then no region could mint
            raise refusals.no_region(regions, self._counter)
        # A table that can be read may still refuse writes. Then the run ends here, and all regions go on.
        same = self._copy_of(register)
        if not all((yield [op.WriteRegister(register, register, record.admitted), op.WriteCopy(same, same)])):
            return None
        if register.lost:
            return (yield from recover(register, record, self._observation))
        return (yield from begin_next_epoch(register, record, self._observation, doubted=doubted))

    def _copy_of(self, register: Register) -> Copy[Register]:
        return Copy(register, self._mirror_id)

    def _write(self, old: Register | None, new: Register, copy: Copy[Register] | None) -> Steps[bool]:
        """Write a register and then its copy. Return whether the register was written; the copy may be missing."""
        written = yield from one(op.WriteRegister(old, new, self._record.admitted))
        if written:
            yield [op.WriteCopy(copy, self._copy_of(new))]
        return bool(written)


def _admitted() -> Steps[DeploymentRecord]:
    """Return the record that was admitted last, which isn't the one that this run carries out."""
    record = yield from one(op.ReadRecord())
    admitted = yield from one(op.ReadAdmitted())
    stays(admitted)
    if record is None:
        raise refusals.lost_meanwhile("layouts table")
    if record.admitted != admitted:  # somebody has deleted `/admitted`, or changed it
        yield [op.WriteRecord(record, record, admitted)]
    return record
