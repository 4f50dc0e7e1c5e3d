"""The data of layouts: the record, registers and their copies in the home region, items in every region."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, dataclass_transform

from global_integers_core.lattice import Layout
from global_integers_core.names import camel

TAKEN = " > "
"""Between the claim of who has taken a record's copy, and the id of its mirror."""

MAX_PAST = 40
"""How many past layouts are kept in the regions. Nothing that a scan reads has them."""

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
class Frozen:
    """The base of values: each subclass is a frozen dataclass. Two with equal fields are equal."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class Absent(Enum):
    """Why there is no item, register or id to return."""

    UNREACHABLE = "unreachable"
    """No answer. A write may have been carried out all the same."""
    GONE = "gone"
    """There is no such table."""
    STRAY = "stray"
    """It can't be read: an operator or another program has written it."""


class Recovery(NamedTuple):
    """An operator's answer to one loss."""

    loss: str
    """Its id, as the refusal has printed it."""
    above: int
    """Nothing was ever minted above this."""


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What a deployment asks for."""

    regions: tuple[str, ...]
    leaving: tuple[str, ...]
    counters: tuple[str, ...]
    """The counters of the settings. Others exist too, and follow."""
    floors: Mapping[str, int] = field(compare=False)
    recovery: Recovery | None = field(compare=False)
    """The answer to one loss. Once admitted, the record has it: what the settings still say answers nothing."""
    window: int
    """The smallest one of any counter."""
    schedule_minutes: int
    """Minutes between two scheduled runs."""
    layouts_label: str
    """`<home region> <stream label of the layouts table>`: another table has another label. No TableId, unlike
    `DeploymentRecord.layouts_id`."""
    first_layouts_label: str
    """What `layouts_label` was at the first `up`, as Pulumi's state remembers it until the stack is destroyed."""
    text: str
    """All of it as JSON. Two desired states are the same if their texts are."""

    @property
    def home(self) -> str:
        """The home region."""
        return self.layouts_label.partition(" ")[0]

    @property
    def first_home(self) -> str:
        """The home region at the first `up`."""
        return self.first_layouts_label.partition(" ")[0]

    @property
    def everywhere(self) -> tuple[str, ...]:
        """The regions of the layout, and the leaving ones."""
        return (*self.regions, *self.leaving)

    def floor(self, counter: str) -> int:
        """Return where the counter begins or goes on, at least; 0 if the settings don't say. It answers no loss."""
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


class Claim(NamedTuple):
    """Says which region is the home, or is about to be.

    In another home, it stands in place of an `Admitted`, so that nobody writes there. Regions have it on record, too.
    """

    home: str
    term: int = 0
    """What `DeploymentRecord.term` is to be there."""
    token: str = ""
    """The run's that has written it into another home."""
    others: tuple[str, ...] = ()
    """All homes that this run knew: one of them has the last record."""
    tables: tuple[str, ...] = ()
    """The ids of the layouts table and the mirror of the new home: if one of them is still there, and there is no
    record of this term, there was never one."""


@lru_cache(maxsize=4)
def desired_state_of(text: str) -> DesiredState:
    """Return the desired state that this text encodes. Every round of every counter reads the same."""
    sent: dict[str, Any] = json.loads(text)
    known = {name: sent[camel(name)] for name in DesiredState.__annotations__ if name != "text"}
    known |= {name: tuple(known[name]) for name in ("regions", "leaving", "counters")}
    known["recovery"] = Recovery(**known["recovery"]) if known["recovery"] else None
    return DesiredState(**known, text=text)


@dataclass(frozen=True, slots=True)
class DeploymentRecord:
    """What the last admitted deployment asked for. `layouts_id` and `token` identify it."""

    layouts_id: str
    """The id of the layouts table in which it was written. In another table, it proves nothing."""
    token: str
    """Random: what the next deployment follows. A record that is put back from the mirror keeps it, so a deployment
    whose preview has read the copy is based on it, too."""
    number: int
    """1, 2, 3, …, for people: after a loss, a number may come again."""
    follows: str
    """The token of the record that the deployment read, "" if there was none."""
    requested: int
    """When it was requested, in seconds since 1970."""
    desired: DesiredState
    reconciled: bool = False
    """Whether every counter has the layout that was asked for, in every region that answers."""
    report: str = "{}"
    """What is deployed, as JSON, for the next preview."""
    answered: str = ""
    """The id of the loss that was answered, until all is reconciled. Registers that were lost by it go on, and no
    others."""
    above: int = 0
    """That answer: nothing was minted above it."""
    first_epoch: int = 1
    """The epoch with which a counter begins of which nothing is found: after a loss, above all that anyone has seen."""
    first_base: int = 1
    """The smallest integer of such a counter."""
    term: int = 1
    """1, 2, 3, … for each region that becomes the home. Of several homes' records, the one of the last term counts."""

    @property
    def admitted(self) -> Admitted:
        """What identifies it."""
        return Admitted(self.layouts_id, self.token)

    def answers(self, register: "Register") -> bool:
        """Return whether a register's limit is lost by the loss that was answered."""
        return register.lost == self.answered != ""

    def has_reported(self, counter: str) -> bool:
        """Return whether a counter of the settings had its layout once."""
        return counter in json.loads(self.report).get("counters", {})


@dataclass(frozen=True, slots=True)
class Register:
    """One counter's layout, which every coordinator follows. Epochs count from 1."""

    counter: str
    layouts_id: str
    """As in `DeploymentRecord`."""
    epoch: int
    regions: tuple[str, ...]
    """None at all if the counter is deleted: its last epoch."""
    ids: tuple[str | None, ...]
    """The id of each region's counters table, once the region may have been given integers in this epoch."""
    base: int
    limit: int
    """The largest integer that any region may mint in this epoch. It is only ever raised."""
    window: int
    """How many integers a region got when the limit was raised."""
    granted: int
    """When the limit was set, in seconds since 1970."""
    lately: int = 0
    """How many integers a region used until then: a sum that fades, by half in a day."""
    preceding: int = 0
    """The epoch of the layout before this one; 0 if there is none, or nobody knows it."""
    lost: str = ""
    """The id of the loss by which the limit is lost: more may have been minted. It gives nothing to any region, and
    ends once that loss is answered and every item is fenced in this epoch. "" if nothing is lost."""

    def is_ahead_of(self, other: "Register") -> bool:
        """Return whether this is a later state of the register in the same table."""
        if self.layouts_id != other.layouts_id or self.epoch != other.epoch:
            return self.layouts_id == other.layouts_id and self.epoch > other.epoch
        more_ids = sum(id_ is not None for id_ in self.ids) > sum(id_ is not None for id_ in other.ids)
        return self.limit > other.limit or more_ids

    def is_fresh(self) -> bool:
        """Return whether it was just begun: it has given nothing to any region yet."""
        return bool(self.regions) and not any(self.ids) and not self.lost

    @property
    def layout(self) -> Layout:
        """Its layout, as it is recorded."""
        return Layout(self.epoch, self.base, self.regions)


@dataclass(frozen=True, slots=True)
class Copy(Generic[T]):
    """A register or the record as the mirror has it, with the id of the mirror's table in which it was written.

    The record's is written after those of all registers: so it proves that the mirror is whole. Where another region
    has taken it, the claim stands before the id, as JSON, and it proves nothing here any more.
    """

    original: T
    mirror_id: str


class ItemState(NamedTuple):
    """What a write of an item compares. Within one epoch, only what puts or ends a hold changes it."""

    epoch: int
    held: str


@dataclass(frozen=True, slots=True)
class Item:
    """One counter in one region's table. It alone decides what is minted there."""

    issued: int
    stride: int
    ceiling: int
    epoch: int
    fenced: bool = False
    """Whether the ceiling stays for this epoch."""
    held: str = ""
    """Why it can't mint: `DELETED`, or a token. While it is held, its ceiling is what was issued; "" if it isn't."""
    low: int = field(default=0, compare=False)
    """Once more than this is issued, the region asks for more. No integer depends on it."""
    past: tuple[int, int] | None = field(default=None, compare=False)
    """The epoch in which it was before, and the last integer issued in it. Only questions about owners need it."""

    @property
    def state(self) -> ItemState:
        """What a write of it compares."""
        return ItemState(self.epoch, self.held)


Items = Mapping[str, Item | Absent | None]
"""Region → one counter's item there; None if its table has none."""


def highest(*items: Items) -> int:
    """Return the largest ceiling: up to there, some region may mint; 0 if there is none."""
    return max((item.ceiling for each in items for item in each.values() if isinstance(item, Item)), default=0)


Scanned = Mapping[str, Item | Absent] | Absent
"""A region's items, by counter; or why there are none."""


def item_in(scanned: Scanned, counter: str) -> Item | Absent | None:
    """Return a counter's item in a scanned region."""
    return scanned if isinstance(scanned, Absent) else scanned.get(counter)


def items_in(scans: Mapping[str, Scanned], counter: str) -> Items:
    """Return a counter's item in each scanned region."""
    return {region: item_in(scanned, counter) for region, scanned in scans.items()}


def where(
    tables: Mapping[str, Mapping[str, Any] | Absent], wanted: Callable[[Any], bool]
) -> dict[str, tuple[str, ...]]:
    """Return the keys of what is wanted, and the tables that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for table, content in tables.items():
        for key, what in () if isinstance(content, Absent) else content.items():
            if wanted(what):
                found[key] = (*found.get(key, ()), table)
    return found


Ids = Mapping[str, str | Absent]
"""Region → the id of its counters table."""


def loss_id(run: str, record: DeploymentRecord) -> str:
    """Return the id of the loss that a run is the first to find, while this record is admitted.

    No other run has its random string. Once an answer is admitted, what it finds is another loss.
    """
    return f"loss-{run.partition('/')[0]}-{record.number}"


class Refused(Exception):
    """The coordinator stops. The message says what was found, where, and what to do."""


class Elsewhere(Refused):
    """The home region is another one by now."""


class TooMany(Refused):
    """A caller may create no more counters."""
