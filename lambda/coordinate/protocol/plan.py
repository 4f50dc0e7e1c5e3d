"""Decides the next step for one counter, from what was read or scanned, and computes limits."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from global_integers_core.lattice import MAX_INTEGER, places
from global_integers_core.names import DELETED

from .model import Absent, DeploymentRecord, Frozen, Ids, Item, Items, Register, highest


class Asked(NamedTuple):
    """What a run asks for of one counter, besides its layout."""

    may_create: bool = False
    """Whether it is created if there is none, though the settings don't have it."""
    delete: bool = False
    count: int = 0  # pyright: ignore[reportIncompatibleMethodOverride]
    """How many integers some region needs at once."""
    went_back: int = 0
    """The epoch in which a region has seen its table go back: that epoch ends, if it is the present one. 0: none."""

    def creates(self, counter: str, record: DeploymentRecord) -> bool:
        """Return whether the counter is created if there is none."""
        return self.may_create or counter in record.desired.counters


HALF_LIFE = 86_400
"""Seconds after which what was used counts half."""

BURST = 60
"""A window lasts so many seconds at the rate since the last grant."""

SHORTEST = 5
"""Seconds that are taken to lie between two grants at least, whatever the clocks say. So a window grows by up to
`BURST` / `SHORTEST` at once."""


def beginning(
    counter: str, record: DeploymentRecord, epoch: int, base: int, now: int, ids: Mapping[str, str] | None = None
) -> Register:
    """Return the register of an epoch that begins, with the smallest window.

    `ids` are the tables of regions that take part already.
    """
    regions, window = record.desired.regions, record.desired.window
    known = tuple((ids or {}).get(region) for region in regions)
    return with_limit(Register(counter, record.layouts_id, epoch, regions, known, base, 0, 0, 0), base - 1, window, now)


def with_limit(register: Register, top: int, window: int, now: int) -> Register:
    """Return the register with a limit that grants every region `window` integers above `top`, if so many are left."""
    stride = len(register.regions)
    limit = min(top + window * stride, MAX_INTEGER)
    left = max((limit - top) // stride, 1)
    return replace(register, limit=max(limit, register.limit), window=min(window, left), granted=now)


def used_by(register: Register, top: int) -> int:
    """Return how many integers a region has used since the last grant, if `top` is the last one of this epoch."""
    stride = len(register.regions)
    granted_above = register.limit - register.window * stride
    return min(max(-((granted_above - top) // stride), 0), register.window)


def by_use(register: Register, least: int, top: int, now: int) -> tuple[int, int]:
    """Return the window that follows from a counter's use, and the sum of that use, which fades.

    The window is at least `least`, that sum, and what lasts a minute at the rate since the last grant.
    """
    used, seconds = used_by(register, top), max(now - register.granted, 0)
    lately = used + int(register.lately * 0.5 ** (seconds / HALF_LIFE))
    return max(least, lately, used * BURST // max(seconds, SHORTEST)), lately


def raised(register: Register, record: DeploymentRecord, top: int, now: int, count: int = 0) -> Register | None:
    """Return the register with a higher limit, if a quarter of the window is used, or less than `count` is left.

    For a block of `count` integers, the limit is raised by twice as many at least. Where a counter is used less than it
    was, so much may be left that no limit is higher: then nothing changes.
    """
    least = record.desired.window
    full = max(register.window, least)
    if register.limit - top >= max(full - full // 4, count) * len(register.regions):
        return None
    window, lately = by_use(register, least, top, now)
    higher = replace(with_limit(register, top, max(window, 2 * count), now), lately=lately)
    return higher if higher.limit > register.limit else None


def left_at_ask(window: int) -> int:
    """Return at how many integers left, or fewer, a region asks for more: half of its window.

    It seldom has to: a scheduled run costs less, and raises the limit when a quarter is used.
    """
    return window // 2


class Gone(Frozen):
    """The counter is deleted, or there is none, and it may not be created."""


class Lost(Frozen):
    """The register is lost that has given a region its item, or a lost one is back that was answered already."""


class Unanswered(Frozen):
    """The limit is lost, and that loss isn't answered."""


class MustAnswer(Frozen):
    """That loss is answered, but these regions don't answer. Nothing bounds what a region mints that isn't fenced."""

    regions: tuple[str, ...]


class End(Frozen):
    """The epoch must end, if any region of the next layout answers."""

    doubted: bool = False
    """Whether items prove nothing, since a region says that its table went back."""


class Hold(Frozen):
    """Regions need an item, which is held before the register may say that they take part."""

    regions: tuple[str, ...]


class Change(Frozen):
    """Only the register must change: a region is brought in, a limit is raised, the counter is deleted or created."""

    register: Register


class Apply(Frozen):
    """Regions must be given what the register already says."""

    open: tuple[str, ...] = ()
    raise_: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()
    """The regions where a deleted counter has no item, or one that may still mint."""
    pending: tuple[str, ...] = ()
    """As in `Reconciled`, after this step."""


class Reconciled(Frozen):
    """Nothing is left to do in the regions that answer."""

    pending: tuple[str, ...]
    """The regions of the layout and the leaving ones whose item or table can't be read now."""


Step = Gone | Lost | Unanswered | MustAnswer | End | Hold | Change | Apply | Reconciled


def plan(
    register: Register,
    record: DeploymentRecord,
    items: Items,
    ids: Ids,
    now: int,
    asked: Asked = Asked(),  # noqa: B008 (it is immutable)
) -> Step:
    """Return the next step. `Gone` and `Reconciled` mean that none is left: every region has what it should have.

    `items` has each region of the layout, of the one asked for, and each leaving one, `ids` their tables, described
    after the item was read. `now` is in seconds since 1970.
    """
    desired, epoch = record.desired, register.epoch
    found = {region: item for region, item in items.items() if isinstance(item, Item)}
    wanted = asked.creates(register.counter, record)
    if register.lost and register.regions and asked.delete:  # that matters only if it is created again
        return Change(replace(register, regions=(), ids=()))
    if register.lost and not record.answers(register) and (register.regions or wanted):
        # What answered this loss once is no answer if somebody has put the register back since.
        return Lost() if desired.recovery and desired.recovery.loss == register.lost else Unanswered()
    if any(item.epoch > epoch for item in found.values()):
        return Lost()
    if record.answers(register):
        silent = unanswering(desired.everywhere, items)
        if silent:
            return MustAnswer(silent)
    top = highest(items)
    if top > register.limit and not register.lost:  # a restored table, or an older register: that much may be minted
        return Change(replace(register, limit=top))
    if not register.regions:
        return _plan_deleted(register, record, items, now, top, wanted=wanted)
    if register.lost or asked.went_back == epoch:
        return End(doubted=not register.lost)
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
    for (region, first), known in zip(wanted_items(register).items(), register.ids, strict=True):
        item, id_ = items[region], ids[region]
        if isinstance(item, Absent) or isinstance(id_, Absent):
            pending.append(region)
        elif known is None and item is None:
            missing.append(region)
        elif known is None and item is not None and (item.held or item.epoch < epoch):
            joining[region] = id_
        elif known is None:
            return Lost()
        elif known != id_ or item is None:
            ends = True
        elif item.held or item.epoch < epoch:
            steps["open"].append(region)
        elif item.fenced:
            ends = True
        else:
            issued.append(item.issued)
            if item.ceiling < first.ceiling:
                steps["raise_"].append(region)
    if ends or register.regions != desired.regions or desired.floor(register.counter) > register.base:
        return End()
    if missing:
        return Hold(tuple(missing))
    if joining:
        return Change(join(register, joining))
    higher = raised(register, record, max(issued, default=register.base - 1), now, asked.count)
    if higher is not None:
        return Change(higher)
    for region in desired.leaving:
        if isinstance(items[region], Absent):
            pending.append(region)
        elif region in found and not is_closed(found[region], epoch):
            steps["close"].append(region)
    if any(steps.values()):
        return Apply(**{name: tuple(regions) for name, regions in steps.items()}, pending=tuple(pending))
    if asked.delete and not pending:
        return Change(deleted(register))
    return Reconciled(tuple(pending))


def _plan_deleted(
    register: Register, record: DeploymentRecord, items: Items, now: int, top: int, *, wanted: bool
) -> Step:
    """Return the step that keeps a counter deleted, or creates it again, above all that was minted.

    Each table gets an item that is held: so there is a trace of it as long as any table is there.
    """
    hold = [name for name, item in items.items() if isinstance(item, Item) and item.held != DELETED]
    if not register.lost:
        hold += [name for name, item in items.items() if item is None]
    if hold:
        return Apply(hold=tuple(hold))
    if record.answers(register):
        return Change(deleted(register, max(record.above, top)))
    if not wanted:
        return Gone()
    base = max(register.limit + 1, record.desired.floor(register.counter))
    return Change(beginning(register.counter, record, register.epoch + 1, base, now))


def deleted(register: Register, limit: int = 0) -> Register:
    """Return the register that deletes a counter, for ever. It is its last epoch, and bounds all that was minted."""
    limit = max(limit, register.limit)
    return replace(register, epoch=register.epoch + 1, regions=(), ids=(), limit=limit, lately=0, preceding=0, lost="")


def unanswering(regions: Iterable[str], items: Items) -> tuple[str, ...]:
    """Return the regions that don't answer, or whose items can't be read."""
    return tuple(region for region in regions if items[region] in (Absent.UNREACHABLE, Absent.STRAY))


def wanted_items(register: Register) -> dict[str, Item]:
    """Return the item that each region of the layout begins the epoch with."""
    base, limit = register.base, register.limit
    low = limit - (left_at_ask(register.window) + 1) * len(register.regions)
    return {
        region: Item(place.before(base), place.stride, place.ceiling(limit, base), register.epoch, low=low)
        for region, place in places(register.regions).items()
    }


def join(register: Register, ids: Mapping[str, str | Absent]) -> Register:
    """Return the register with these tables. A region that doesn't answer stays as it is."""
    known = zip(register.regions, register.ids, strict=True)
    joined = ((ids.get(region, before), before) for region, before in known)
    return replace(register, ids=tuple(before if isinstance(id_, Absent) else id_ for id_, before in joined))


def is_closed(item: Item, epoch: int) -> bool:
    """Return whether an item has reached this epoch and mints nothing more."""
    return item.fenced and item.ceiling <= item.issued and item.epoch == epoch
