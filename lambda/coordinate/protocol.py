"""Changes the layout of one counter while every region that answers goes on minting.

`settle` decides and does no I/O. It yields batches of operations and is sent their answers. The operations
of a batch may be carried out in any order, or at the same time. Every write is conditional, so `settle` may
stop anywhere and be run again, and several runs may race: the register decides, and all of them carry out
the same change.

The rule is that an epoch's base lies above all that was minted before: above the ceiling of every region that was
fenced, and above the limit for every one that wasn't.

docs/layouts.md says why no integer is minted twice. tests/simulation/ searches for a counterexample, and has
transcripts of whole runs.
"""

from dataclasses import dataclass, replace

from .advance import advance
from .begin import adopt, first_register
from .give import give, place
from .model import Copy, Record, Refused, Register
from .operations import DescribeLayouts, DescribeMirror, ReadCopy, ReadRecord, ReadRegister, WriteCopy, WriteRegister
from .plan import Change, Conflict, End, Give, Place, Settled, Stay, plan
from .reading import Steps, look, one
from .refusals import ahead, lost_home, no_region, nothing_deployed

ROUNDS = 100
"""How often a run looks again before it gives up. Each time, another run was faster, or one step was taken."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a counter stands: its register, the regions that have yet to follow, and whether this run created it."""

    register: Register
    pending: tuple[str, ...]
    created: bool = False


def settle(counter: str, run: str, now: int) -> Steps[Outcome]:
    """Bring a counter to the layout that the record asks for. A counter that doesn't exist is created.

    Args:
        counter: its name.
        run: a random string, which no other run has.
        now: seconds since 1970.

    Returns:
        The register as it is then, and the regions that didn't answer.

    Raises:
        Refused: it needs an operator to continue.
    """
    created = False
    for number in range(ROUNDS):
        token = f"{run}/{number}"  # no two items are ever placed under one token
        copy = yield from one(ReadCopy(counter))  # first, or an older register could replace a newer copy
        register, record = yield [ReadRegister(counter), ReadRecord()]
        home, mirror = yield [DescribeLayouts(), DescribeMirror()]  # after the reads, so it is these tables' content
        if record is None or record.home != home:
            raise nothing_deployed(counter) if record is None else lost_home(home)
        if register is None or register.home != home:
            again = yield from one(ReadCopy(counter))  # the first one may be from long before the loss
            if (again, (yield from one(DescribeMirror()))) != (copy, mirror):
                continue
            if copy is not None and copy.mirror == mirror:  # the layouts table was lost; this is what was in it
                yield from _write(register, replace(copy.register, home=home), record, copy, mirror)
            elif register is not None and not register.home and not register.granted:
                adopted = yield from adopt(register, record, home)
                yield from _write(register, adopted, record, copy, mirror)
            else:
                try:
                    new = yield from first_register(counter, register, copy, record, home, now)
                except Refused:
                    if (yield from one(ReadRegister(counter))) == register:
                        raise
                    continue  # another run was faster, and what was found is its work
                created = (yield from _write(register, new, record, copy, mirror)) or created
            continue
        if copy is not None and copy.mirror == mirror and copy.register.is_ahead_of(register):
            # The copy was read first, so the register went backwards: somebody has put back older content in place.
            yield [WriteRegister(register, copy.register, record)]
            continue
        if copy != Copy(register, mirror):
            yield [WriteCopy(copy, Copy(register, mirror))]
            continue  # nothing is done by a register before its copy is written
        items, ids = yield from look((*register.regions, *record.wish.regions, *record.wish.leaving), counter)
        following: Register | None = None
        match plan(register, record, items, ids, now):
            case Settled(pending):
                return Outcome(register, pending, created)
            case Conflict(region, item):
                if (yield from one(ReadRegister(counter))) != register:
                    continue  # another run was faster, and what it has given is no conflict
                if record.wish.floor(counter) <= register.base:
                    raise ahead(register, region, item)
                following = yield from advance(register, record, items, now, beyond_floor=True)
            case Stay():
                raise no_region(counter, record.wish.regions)
            case End():
                following = yield from advance(register, record, items, now)
            case Place(regions):
                following = yield from place(register, regions, items, token)
            case Change(changed):
                following = changed
            case Give() as step:
                if (yield from give(register, step, items)):
                    return Outcome(register, step.pending, created)
        if following is not None:
            yield from _write(register, following, record, copy, mirror)
    raise Refused(f"{counter}: other runs were faster {ROUNDS} times. The next run continues where this one stopped.")


def _write(old: Register | None, new: Register, record: Record, copy: Copy | None, mirror: str) -> Steps[bool]:
    """Write a register and then its copy. Return whether the register was written; the copy may still be missing."""
    written = yield from one(WriteRegister(old, new, record))
    if written:
        yield [WriteCopy(copy, Copy(new, mirror))]
    return bool(written)
