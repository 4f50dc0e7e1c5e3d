"""Deployments as `pulumi up` makes them, by the program's own event."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from coordinate.events import request_of
from coordinate.protocol.model import Deploy, DesiredState, desired_state_of

from components.coordinator.deployment import GONE, StoredRecord, event, former_home, record_of
from components.names import ResourceNames
from components.settings.values import canonical
from global_integers_core.records import RECORD_KEY

from .checks import CheckedWorld
from .world import HOME, LAYOUTS, MIRROR, at_home

WINDOW = 12

NAMES = ResourceNames("simulated")


def desired(
    regions: Sequence[str],
    leaving: Sequence[str] = (),
    *,
    counters: Sequence[str] = ("c",),
    layouts_label: str = "home layouts 1",
    first: str = "home layouts 1",
    tables: Mapping[str, str] | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """Return what a deployment of a small world asks for, also its floors, window and recovery if they are `asked`."""
    return {
        "regions": list(regions),
        "leaving": list(leaving),
        "counters": list(counters),
        "floors": {},
        "recovery": {},
        "window": WINDOW,
        "scheduleMinutes": 1,
        "layoutsLabel": layouts_label,
        "firstLayoutsLabel": first,
        "defaultCounter": counters[0],
        "tableLabels": dict(tables or {}),
    } | asked


def decoded(asked: Mapping[str, Any]) -> DesiredState:
    """Return a desired state as the coordinator reads it."""
    return desired_state_of(canonical(asked))


def deployment(
    world: CheckedWorld,
    regions: Sequence[str],
    leaving: Sequence[str] = (),
    *,
    home: str = "",
    follows: str | None = None,
    seconds: int = 0,
    **asked: Any,
) -> Deploy:
    """Return a deployment whose preview reads what is admitted now, unless it `follows` something else.

    It is requested so many seconds from now.
    """
    record, copy = world.record, world.record_copy
    if copy and (record is None or record.layouts_id != world.layouts.id):
        record = copy.original  # it is about to be put back
    home = home or world.home
    world.make_home(home)
    label = f"{home} {world.database.tables[home, LAYOUTS].id}"
    admitted = record.token if record else ""
    wanted = decoded(desired(regions, leaving, layouts_label=label, **asked))
    return Deploy(wanted, admitted if follows is None else follows, world.now + seconds)


@dataclass(frozen=True)
class SimulatedSettings:
    """A stack's settings."""

    regions: tuple[str, ...]
    leaving: tuple[str, ...] = ()
    floors: Mapping[str, int] = field(default_factory=dict[str, int])
    window: int = WINDOW
    recovery: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer to a loss: its name, and above what nothing was minted."""
    home: str = HOME


Read = tuple[StoredRecord | None, StoredRecord | None, StoredRecord | None]
"""The record and its copy in the home region of the settings, and the record of a former home, as a preview has read
them."""


class SimulatedPulumi:
    """The program, and Pulumi's state. What it knows of the tables may be outdated."""

    def __init__(self, world: CheckedWorld, random: Random, counters: Sequence[str]) -> None:
        self._world = world
        self._random = random
        self.counters = counters
        """Those of the settings."""
        self.check: Sequence[str] = ()
        """The counter that health checks read, unless it is left out: every deployment has it behind its own."""
        self.tables: dict[str, str] = {}
        """The regions that it has made, and the ids of their tables, as its state has them."""
        self.home = HOME
        """The home region that stands in the settings."""
        self.homes: set[str] = set()
        """The home regions whose tables the state has."""
        self.first = ""
        """The label of the first layouts table of all."""
        self.stood = False
        """Whether a deployment has succeeded."""
        self.recovery: Mapping[str, Any] = {}
        """The answer that stands in the settings."""
        self.window = WINDOW
        self.settings: SimulatedSettings | None = None
        """Those of the last `up`."""
        self._event: str | None = None
        """That of the last invocation that succeeded. One that fails leaves nothing in the state."""

    def forget(self) -> None:
        """Lose Pulumi's state, and import the tables into a new one."""
        self.first, self._event = "", None

    def read(self, settings: SimulatedSettings) -> Read:
        """Read what a preview reads, by the program's own code.

        Raises:
            RunError: a table of the former home is gone.
        """
        former = former_home(NAMES, settings.home, [*settings.regions, *settings.leaving], self._item)
        record, copy = (self._item(table, settings.home, RECORD_KEY) for table in (LAYOUTS, MIRROR))
        return _stored(record), _stored(copy), former and former.record

    def _item(self, name: str, region: str, key: str) -> Mapping[str, Any]:
        table = self._world.database.tables.get((region, name.rpartition("-")[2]))
        if region in self._world.unreachable:
            return {}
        return GONE if table is None else table.items.get(key, {})

    def change(self, regions: tuple[str, ...], floors: Mapping[str, int]) -> SimulatedSettings:
        """Return settings with other regions. Some of those that are left out are leaving, the others are dropped."""
        gone = sorted(self.tables.keys() - set(regions))
        leaving = tuple(region for region in gone if self._random.random() < 0.5)
        return SimulatedSettings(regions, leaving, floors, self.window, self.recovery, self.home)

    def up(self, settings: SimulatedSettings, read: Read, *, refresh: bool, wrong_by: int = 0) -> str | None:
        """Make the tables, and return the event that is sent to the coordinator, or None if nothing has changed.

        `read` is what the preview has read. With `refresh`, tables that are missing or others are noticed. The clock of
        the computer that deploys is `wrong_by` so many seconds.
        """
        world, home = self._world, settings.home
        self.settings, self.home = settings, home
        world.make_home(home)
        label = f"{home} {world.database.tables[home, LAYOUTS].stream}"
        self.homes.add(home)
        self.first = self.first or label
        for region in settings.regions:
            if region not in self.tables or refresh:
                world.make_table(region)
                self.tables[region] = world.tables[region].id
        asked = desired(
            settings.regions,
            settings.leaving,
            counters=[*self.counters, *self.check],
            floors=settings.floors,
            layouts_label=label,
            first=self.first,
            tables={region: self.tables[region] for region in settings.regions},
            window=settings.window,
            recovery=settings.recovery,
        )
        record, copy, former = read
        sent = event(asked, record, copy, world.now + wrong_by, former)
        return None if sent == self._event else sent

    def succeeded(self, sent: str | None) -> list[str]:
        """Note that the coordinator has agreed. Return the regions that are now deleted."""
        self._event = sent or self._event
        self.stood = True
        assert self.settings is not None
        stays = {*self.settings.regions, *self.settings.leaving}
        for home in sorted(self.homes - {self.settings.home}):  # protected ones stay until the next time
            if self._random.random() < 0.5:
                self.homes.remove(home)
                for table in (LAYOUTS, MIRROR):
                    self._world.delete(at_home(table, home))
        gone = sorted(self.tables.keys() - stays)
        deleted = [region for region in gone if self._random.random() < 0.8]  # the rest fails
        for region in deleted:
            del self.tables[region]
        return deleted


def _stored(item: Mapping[str, Any]) -> StoredRecord | None:
    return record_of(json.dumps(item), LAYOUTS) if item else None


def deployment_of(sent: str) -> Deploy:
    """Return the deployment that an event asks for."""
    request = request_of(json.loads(sent))
    assert isinstance(request, Deploy)
    return request


ASKED = re.compile(r"`recovery: \{loss: ([^,}]+), above")
"""What a refusal says about the answer to a loss."""


def loss_named(refusal: str) -> str:
    """Return the id of the loss that a refusal asks to answer; "" if it asks for none."""
    found = ASKED.search(refusal)
    return found[1] if found else ""
