"""Decides the next step for one counter, from what was read or scanned, and computes limits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from global_integers_core.lattice import MAX_INTEGER, places

from .model import Absent, DeploymentRecord, Ids, Item, Items, Register


def beginning(
    counter: str,
    layouts_id: str,
    epoch: int,
    record: DeploymentRecord,
    base: int,
    now: int,
    ids: Mapping[str, str] | None = None,
) -> Register:
    """Return the register of an epoch that begins."""
    regions, window = record.desired.regions, record.desired.window
    empty = Register(
        counter, layouts_id, epoch, regions, tuple((ids or {}).get(region) for region in regions), base, 0, 0, 0
    )
    return granted(empty, base - 1, window, now)


def granted(register: Register, top: int, window: int, now: int) -> Register:
    """Return the register with a limit that grants every region `window` integers above `top`."""
    limit = min(top + window * len(register.regions), MAX_INTEGER)
    return replace(register, limit=max(limit, register.limit), window=window, granted=now)


def raised(register: Register, record: DeploymentRecord, top: int, now: int, count: int = 0) -> Register | None:
    """Return the register with a higher limit, if less than half of the last grant is left, or less than `count`.

    For a block of `count` integers, the limit is raised by twice as many, and the window grows towards that.
    The window grows to what lasts three scheduled runs at the rate seen since the limit was set. That is taken to be at
    least as long ago as lies between two of them, whatever the clocks say: so it grows threefold at most.
    """
    stride, desired = len(register.regions), record.desired
    left = register.limit - top
    if left >= max(register.window * stride // 2, count * stride) or register.limit == MAX_INTEGER:
        return None
    used = register.window * stride - left
    seconds = max(now - register.granted, 60 * desired.schedule_minutes)
    lasting = -(-used * 3 * 60 * desired.schedule_minutes // (seconds * stride))
    window = max(desired.window, register.window, lasting)
    enough = max(window, 2 * count)
    return replace(granted(register, top, enough, now), window=max(window, min(enough, 3 * register.window)))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A region has an item that the register hasn't given."""


@dataclass(frozen=True, slots=True)
class End:
    """The epoch must end, if any region of the next layout answers."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Regions need an item, which is held before the register may say that they take part."""

    regions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The register must change: a region is brought in, or the limit is raised."""

    register: Register


@dataclass(frozen=True, slots=True)
class Apply:
    """Regions must be given what the register already says."""

    open: tuple[str, ...] = ()
    raise_: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    """As in `Reconciled`, after this step."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Nothing is left to do in the regions that answer."""

    pending: tuple[str, ...]
    """The regions of the layout and the leaving ones whose item or table can't be read now."""


Step = Conflict | End | Hold | Change | Apply | Reconciled


def plan(register: Register, record: DeploymentRecord, items: Items, ids: Ids, now: int, count: int = 0) -> Step:
    """Return the next step. No step is left if every region has `count` integers, and what else it should have.

    `items` has each region of the layout, of the one asked for, and each leaving one, `ids` their tables, described
    after the item was read. `now` is in seconds since 1970.
    """
    desired, epoch = record.desired, register.epoch
    found = {region: item for region, item in items.items() if isinstance(item, Item)}
    if any(item.epoch > epoch for item in found.values()):
        return Conflict()
    # What a table holds that was restored, or is another stack's, may lie above all that this epoch knows of.
    ends = any(
        item.ceiling >= register.base and (item.epoch < epoch or region not in register.regions)
        for region, item in found.items()
    )
    pending: list[str] = []
    missing: list[str] = []
    joining: dict[str, str] = {}
    steps: dict[str, list[str]] = {"open": [], "raise_": [], "close": []}
    issued: list[int] = []
    for (region, wanted), known in zip(wanted_items(register).items(), register.ids, strict=True):
        item, id_ = items[region], ids[region]
        if isinstance(item, Absent) or isinstance(id_, Absent):
            pending.append(region)
        elif known is None and item is None:
            missing.append(region)
        elif known is None and item is not None and (item.held or item.epoch < epoch):
            joining[region] = id_
        elif known is None:
            return Conflict()
        elif known != id_ or item is None:
            ends = True
        elif item.held or item.epoch < epoch:
            steps["open"].append(region)
        elif item.fenced:
            ends = True
        else:
            issued.append(item.issued)
            if item.ceiling < wanted.ceiling:
                steps["raise_"].append(region)
    if ends or register.regions != desired.regions or desired.floor(register.counter) > register.base:
        return End()
    if missing:
        return Hold(tuple(missing))
    if joining:
        return Change(join(register, joining))
    higher = raised(register, record, max(issued, default=register.base), now, count)
    if higher is not None:
        return Change(higher)
    for region in desired.leaving:
        if isinstance(items[region], Absent):
            pending.append(region)
        elif region in found and not is_closed(found[region], epoch):
            steps["close"].append(region)
    if any(steps.values()):
        return Apply(**{name: tuple(regions) for name, regions in steps.items()}, pending=tuple(pending))
    return Reconciled(tuple(pending))


def wanted_items(register: Register) -> dict[str, Item]:
    """Return the item that each region of the layout begins the epoch with."""
    base, limit = register.base, register.limit
    return {
        region: Item(place.before(base), place.stride, place.ceiling(limit, base), register.epoch, table=id_ or "")
        for (region, place), id_ in zip(places(register.regions).items(), register.ids, strict=True)
    }


def join(register: Register, ids: Mapping[str, str | Absent]) -> Register:
    """Return the register with these tables. A region that doesn't answer stays as it is."""
    known = zip(register.regions, register.ids, strict=True)
    joined = ((ids.get(region, before), before) for region, before in known)
    return replace(register, ids=tuple(before if isinstance(id_, Absent) else id_ for id_, before in joined))


def is_closed(item: Item, epoch: int) -> bool:
    """Return whether an item has reached this epoch and mints nothing more."""
    return item.fenced and item.ceiling <= item.issued and item.epoch == epoch
