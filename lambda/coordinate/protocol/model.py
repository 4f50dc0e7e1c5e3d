"""The data of layouts: the record, registers and their copies in the home region, items in every region."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, cast

from global_integers_core.lattice import Layout

MAX_PAST = 40
"""How many past layouts are kept, in the archive and in the regions. Nothing that a scan reads has them."""

T = TypeVar("T")


class Absent(Enum):
    """Why there is no item, register or id to return."""

    UNREACHABLE = "unreachable"
    """No answer. A write may have been carried out all the same."""
    GONE = "gone"
    """There is no such table."""
    STRAY = "stray"
    """It can't be read: an operator or another program has written it."""


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What a deployment asks for."""

    regions: tuple[str, ...]
    leaving: tuple[str, ...]
    counters: tuple[str, ...]
    """The counters of the settings. Others exist too, and follow."""
    floors: Mapping[str, int] = field(compare=False)
    window: int
    headroom: int
    schedule_minutes: int
    """Minutes between two scheduled runs."""
    layouts_label: str
    """`<home region> <stream label of the layouts table>`: another table has another label. No TableId, unlike
    `DeploymentRecord.layouts_id`."""
    first_layouts_label: str
    """What `layouts_label` was at the first `up`, as Pulumi's state remembers it until the stack is destroyed."""
    default_counter: str
    """What `/` mints from."""
    default_chosen: bool
    """Whether the settings name it, instead of leaving it as it is."""
    text: str
    """All of it as JSON. Two desired states are the same if their texts are."""

    def floor(self, counter: str) -> int:
        """Return the counter's floor, below which it never mints again; 0 if it has none."""
        return self.floors.get(counter, self.floors.get("*", 0))


@dataclass(frozen=True, slots=True)
class Deploy:
    """What a deployment asks for, the token of the record that it read ("": none), and when (seconds since 1970)."""

    desired: DesiredState
    follows: str
    requested: int


class Admitted(NamedTuple):
    """What identifies the stored record. It is stored beside the record, and changes only with it."""

    layouts_id: str
    token: str


class Deleted(NamedTuple):
    """The mark of a deleted counter: all that was ever minted of it is of this epoch or before, up to this limit.

    It is in the archive, read where a counter is created, and never scanned.
    """

    epoch: int
    limit: int


NEVER = Deleted(0, 0)


def highest(*marks: Deleted) -> Deleted:
    """Return the highest epoch and the highest limit of any of the marks."""
    return Deleted(max(mark.epoch for mark in marks), max(mark.limit for mark in marks))


class Deletions(NamedTuple):
    """What is known of the marks of all deleted counters, should they be lost."""

    archive_id: str = ""
    """The id of the archive that has them; "" if no counter was ever deleted."""
    highest: Deleted = NEVER
    """The highest of them."""
    lost: Deleted = NEVER
    """The highest of those that were lost with an archive."""

    @property
    def of_all(self) -> Deleted:
        """The highest of all marks, lost or not."""
        return highest(self.highest, self.lost)


NO_DELETIONS = Deletions()


@lru_cache(maxsize=4)
def desired_state_of(text: str) -> DesiredState:
    """Return the desired state that this text encodes. Every round of every counter reads the same."""
    desired: dict[str, Any] = json.loads(text)
    return DesiredState(
        regions=tuple(desired["regions"]),
        leaving=tuple(desired["leaving"]),
        counters=tuple(desired["counters"]),
        floors=cast("dict[str, int]", desired["floors"]),
        window=desired["window"],
        headroom=desired["headroom"],
        schedule_minutes=desired["scheduleMinutes"],
        layouts_label=desired["layoutsLabel"],
        first_layouts_label=desired["firstLayoutsLabel"],
        default_counter=desired["defaultCounter"],
        default_chosen=desired["defaultChosen"],
        text=text,
    )


@dataclass(frozen=True, slots=True)
class DeploymentRecord:
    """What the last admitted deployment asked for. `layouts_id` and `token` identify it."""

    layouts_id: str
    """The id of the layouts table in which it was written. In another table, it proves nothing."""
    token: str
    """Random. A record that is put back after a loss gets another one, so a run that read the lost one doesn't go on,
    and neither does a deployment that was requested before."""
    number: int
    """1, 2, 3, …, for people: after a loss, a number may come again."""
    follows: str
    """The token of the record that the deployment read, "" if there was none."""
    requested: int
    """When it was requested, in seconds since 1970."""
    desired: DesiredState
    default_counter: str
    """What `/` mints from. Only `admit.note_default` changes it, just before callers reach another counter."""
    reconciled: bool = False
    """Whether every counter has the layout that was asked for, in every region that answers."""
    report: str = "{}"
    """What is deployed, as JSON, for the next preview."""
    restored: bool = False
    """Whether it was put back from the mirror, while some registers may still be missing."""
    first_epoch: int = 1
    """The epoch with which a counter begins of which nothing is found: after a loss of everything, above all before."""
    first_base: int = 1
    """The smallest integer of such a counter: after a loss of everything, the floor that was set for all."""
    deletions: Deletions = NO_DELETIONS
    default_before: str = ""
    """What `/` minted from before; "" if that has never changed. Some callers may reach it still, or again."""

    @property
    def admitted(self) -> Admitted:
        """What identifies it."""
        return Admitted(self.layouts_id, self.token)

    def has_reported(self, counter: str, after: int = 0) -> bool:
        """Return whether a counter of the settings had its layout once, in an epoch `after` this one."""
        reported = json.loads(self.report).get("counters", {}).get(counter)
        return reported is not None and reported["epoch"] > after


@dataclass(frozen=True, slots=True)
class Register:
    """One counter's layout, which every coordinator follows. Epochs count from 1."""

    counter: str
    layouts_id: str
    """As in `DeploymentRecord`."""
    epoch: int
    regions: tuple[str, ...]
    """None at all if the counter is being deleted: its last epoch."""
    ids: tuple[str | None, ...]
    """The id of each region's counters table, once the region may have been given integers in this epoch."""
    base: int
    limit: int
    """The largest integer that any region may mint in this epoch. It is only ever raised."""
    window: int
    """How many integers a region gets when the limit is raised; 0 if the register was lost and items were adopted as
    they are: then the epoch has no layout of its own, and ends at once."""
    granted: int
    """When the limit was set, or the deletion began, in seconds since 1970."""
    preceding: int = 0
    """The epoch of the layout before this one, if the archive has it; otherwise 0."""

    def is_ahead_of(self, other: "Register") -> bool:
        """Return whether this is a later state of the register in the same table."""
        if self.layouts_id != other.layouts_id or self.epoch != other.epoch:
            return self.layouts_id == other.layouts_id and self.epoch > other.epoch
        more_ids = sum(id_ is not None for id_ in self.ids) > sum(id_ is not None for id_ in other.ids)
        return self.limit > other.limit or more_ids

    @property
    def layout(self) -> Layout:
        """Its layout, as it is recorded."""
        return Layout(self.epoch, self.base, self.regions)


@dataclass(frozen=True, slots=True)
class Copy(Generic[T]):
    """A register or the record as the mirror has it, with the id of the mirror's table in which it was written.

    The record's is written after those of all registers: so it proves that the mirror is whole.
    """

    original: T
    mirror_id: str


@dataclass(frozen=True, slots=True)
class Item:
    """One counter in one region's table. It alone decides what is minted there.

    `opening` is the token of the run that put the item. Until that token opens it, its ceiling is what was issued.
    """

    issued: int
    stride: int
    ceiling: int
    epoch: int
    fenced: bool = False
    opening: str | None = None
    past: tuple[int, int] | None = field(default=None, compare=False)
    """The epoch in which it was before, and the last integer issued in it. Only questions about owners need it."""
    deleted: bool = False
    """Whether its counter is being deleted. To callers, there is no such counter then."""


Items = Mapping[str, Item | Absent | None]
"""Region → one counter's item there; None if its table has none."""

Scanned = Mapping[str, Item | Absent] | Absent
"""A region's items, by counter; or why there are none."""


def item_in(scanned: Scanned, counter: str) -> Item | Absent | None:
    """Return a counter's item in a scanned region."""
    return scanned if isinstance(scanned, Absent) else scanned.get(counter)


Ids = Mapping[str, str | Absent]
"""Region → the id of its counters table."""


class Refused(Exception):
    """The coordinator stops. The message says what was found, where, and what to do."""


class TooMany(Refused):
    """A caller may create no more counters."""
