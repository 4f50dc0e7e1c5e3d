"""Lists all counters for an operator: layouts, last integers, and how fast they are minted. Nothing changes."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from global_integers_core.names import CHECK_COUNTER

from .events import Listing
from .protocol.model import Absent, Item, Register
from .protocol.moves import stays
from .protocol.operations import Operation, ReadAdmitted, ReadRecord, ScanItems, ScanRegisters, Steps
from .protocol.refusals import nothing_deployed

PAGE = 10_000
"""Counters in one answer: 2 MB at most. Lambda answers with up to 6 MB (Lambda guide, "Lambda quotas")."""


class Look(NamedTuple):
    """What was found at a time: the counters, what each region has issued, and the regions that don't answer."""

    at: float
    registers: Mapping[str, Register]
    items: Mapping[str, Mapping[str, Item]]
    """Region → counter → its item."""
    silent: tuple[str, ...]


def listed(asked: Listing, drive: Callable[[Steps[Look]], Look], sleep: Callable[[float], None]) -> dict[str, Any]:
    """Return the counters in the order of their names, up to `PAGE` of them after `asked.after`.

    `drive` takes the steps of a look. With a rate, there are two looks. `position` is the last integer of the epoch,
    None before the first one. `perSecond` is None if the epoch has changed meanwhile. The regions that don't answer are
    `unreachable`, and what they mint isn't counted. With `next`, there are more counters.

    Raises:
        Refused: nothing is deployed.
    """
    before = now = drive(look())
    if asked.seconds:
        sleep(asked.seconds)
        now = drive(look())
    names = sorted(name for name, register in now.registers.items() if register.regions and name > asked.after)
    counters = {name: _counter(name, now, before if asked.seconds else None) for name in names[:PAGE]}
    found: dict[str, Any] = {"counters": counters, "unreachable": sorted({*before.silent, *now.silent})}
    return {**found, "next": names[PAGE - 1]} if len(names) > PAGE else found


def look() -> Steps[Look]:
    """Read all registers, and the items of all regions."""
    admitted, record = yield [ReadAdmitted(), ReadRecord()]
    stays(admitted)
    if record is None:
        raise nothing_deployed("counters")
    regions: tuple[str, ...] = record.desired.regions
    operations: list[Operation] = [ScanRegisters(), *(ScanItems(region) for region in regions)]
    at = time.monotonic()
    registers, *scanned = yield operations
    items: dict[str, Mapping[str, Item]] = {}
    for region, found in zip(regions, scanned, strict=True):
        if not isinstance(found, Absent):
            items[region] = {name: item for name, item in found.items() if isinstance(item, Item)}
    readable = {name: each for name, each in registers.items() if isinstance(each, Register) and name != CHECK_COUNTER}
    return Look(at, readable, items, tuple(region for region in regions if region not in items))


def _counter(name: str, now: Look, before: Look | None) -> dict[str, Any]:
    register = now.registers[name]
    issued = _issued(now, register)
    position = max((last for last, _ in issued.values() if last >= register.base), default=None)
    found = {"epoch": register.epoch, "base": register.base, "limit": register.limit, "position": position}
    return found if before is None else {**found, "perSecond": _rate(register, issued, now, before)}


def _issued(seen: Look, register: Register) -> dict[str, tuple[int, int]]:
    """Return the last integer and the stride of each region that mints in the register's epoch."""
    items = {region: found.get(register.counter) for region, found in seen.items.items()}
    return {
        region: (item.issued, item.stride)
        for region, item in items.items()
        if item is not None and item.epoch == register.epoch and region in register.regions
    }


def _rate(register: Register, issued: Mapping[str, tuple[int, int]], now: Look, before: Look) -> float | None:
    earlier = _issued(before, register)
    if register.counter not in before.registers or earlier.keys() != issued.keys() or not issued:
        return None
    minted = sum((last - earlier[region][0]) / stride for region, (last, stride) in issued.items())
    return round(minted / max(now.at - before.at, 0.001), 1)
