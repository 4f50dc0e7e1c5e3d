"""Begins a counter, or continues one after a loss if a floor says what was minted."""

from integers.lattice import MAX_INTEGER

from .advance import fence
from .limits import beginning
from .model import Absent, Copy, Item, Record, Register, Wish
from .operations import DescribeMirror, ReadRecordCopy
from .plan import Items
from .reading import Steps, look, one
from .refusals import lost_register, unfenced

AHEAD = 100
"""How many epochs a counter skips when it continues after a loss: more than the lost register was ahead of all else."""


def first_register(
    counter: str, register: Register | None, copy: Copy | None, record: Record, home: str, now: int
) -> Steps[Register]:
    """Return the first register of a counter.

    If anything is found of the counter, its register and its copy were lost, and only a floor can say what was minted.
    """
    wish = record.wish
    items, _ = yield from look((*wish.regions, *wish.leaving), counter)
    found = {region: item for region, item in items.items() if isinstance(item, Item)}
    whole = yield from _whole(record)
    if record.restored and whole:
        register = None  # the mirror has no copy of it, so nothing was ever done by it
    past = [known for known in (register, copy.register if copy else None) if known is not None]
    floor = wish.floor(counter)
    if found or past or not whole:
        if not floor:
            raise lost_register(counter, list(found))
        check_bounded(counter, wish, items)
    fences = yield from fence(counter, found, 0, wish.headroom, later=True)
    ceilings = [fences[region].bound if region in fences else MAX_INTEGER for region in found]
    base = max(1, floor, *(ceiling + 1 for ceiling in ceilings), *(known.base for known in past))
    epoch = 1
    if found or past or not whole:  # regions may have on record what the lost register decided
        epoch = AHEAD + max([item.epoch for item in found.values()] + [known.epoch for known in past], default=0)
    if base > MAX_INTEGER:
        raise unfenced(counter, [region for region in found if region not in fences])
    return beginning(counter, home, epoch, record, base, now)


def check_bounded(counter: str, wish: Wish, items: Items) -> None:
    """Check that a floor says enough: no register says how far a region may mint that can't be fenced now.

    Raises:
        Refused: a region of the wish doesn't answer, or its item can't be read.
    """
    away = [name for name in (*wish.regions, *wish.leaving) if items[name] in (Absent.AWAY, Absent.STRAY)]
    if away:
        raise unfenced(counter, away)


def _whole(record: Record) -> Steps[bool]:
    """Return whether a counter without a register is a new one, since every register is where it should be."""
    if not record.restored:
        return True
    copy = yield from one(ReadRecordCopy())
    return copy is not None and copy.mirror == (yield from one(DescribeMirror()))
