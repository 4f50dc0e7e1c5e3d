"""Deployments as `pulumi up` makes them, by the program's own event."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from coordinate.events import request_of
from coordinate.protocol.model import Deploy, DesiredState, desired_state_of

from components.coordinator.deployment import GONE, StoredRecord, event, former_home, record_of
from components.names import ResourceNames
from components.settings.values import canonical
from global_integers_core.records import RECORD_KEY

from .checks import CheckedWorld
from .world import HOME, LAYOUTS, MIRROR, RECEIPTS, at_home

WINDOW = 12

NAMES = ResourceNames("simulated")


@dataclass(frozen=True)
class SimulatedSettings:
    """A stack's settings."""

    regions: Sequence[str] = ()
    leaving: Sequence[str] = ()
    counters: Sequence[str] = ("c",)
    floors: Mapping[str, int] = field(default_factory=dict[str, int])
    window: int = WINDOW
    recovery: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer to a loss: its name, and above what nothing was minted."""
    home: str = HOME

    @property
    def everywhere(self) -> list[str]:
        """All regions that have tables."""
        return [*self.regions, *self.leaving]


def desired(
    settings: SimulatedSettings,
    label: str = "home layouts 1",
    first: str = "home layouts 1",
    tables: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what a deployment of these settings asks for, with the labels of its tables and of the first layouts."""
    return {
        "regions": list(settings.regions),
        "leaving": list(settings.leaving),
        "counters": list(settings.counters),
        "floors": settings.floors,
        "recovery": settings.recovery,
        "window": settings.window,
        "scheduleMinutes": 1,
        "authorization": "AWS_IAM",
        "memorySize": 256,
        "layoutsLabel": label,
        "firstLayoutsLabel": first,
        "defaultCounter": settings.counters[0],
        "tableLabels": dict(tables or {}),
    }


def decoded(asked: Mapping[str, Any]) -> DesiredState:
    """Return a desired state as the coordinator reads it."""
    return desired_state_of(canonical(asked))


def deployment(
    world: CheckedWorld,
    regions: Sequence[str],
    *,
    home: str = "",
    follows: str | None = None,
    first: str = "home layouts 1",
    **others: Any,
) -> Deploy:
    """Return a deployment whose preview reads what is admitted now, unless it `follows` something else."""
    settings = SimulatedSettings(regions, home=home or world.home, **others)
    record, copy = world.record, world.record_copy
    if copy and (record is None or record.layouts_id != world.layouts.id):
        record = copy.original  # it is about to be put back
    world.make_home(settings.home)
    wanted = decoded(desired(settings, world.layouts_label(settings.home), first))
    admitted = record.token if record else ""
    return Deploy(wanted, admitted if follows is None else follows, world.now)


Read = tuple[StoredRecord | None, StoredRecord | None, StoredRecord | None]
"""The record and its copy in the home region of the settings, and the record of a former home, as a preview has read
them."""


class SimulatedPulumi:
    """The program, and Pulumi's state. What it knows of the tables may be outdated."""

    def __init__(self, world: CheckedWorld, random: Random) -> None:
        self._world = world
        self._random = random
        self.settings = SimulatedSettings()
        """Those of the last `up`."""
        self.said = ""
        """The loss that the last refusal asks to answer."""
        self.tables: dict[str, str] = {}
        """The regions that it has made, and the ids of their tables, as its state has them."""
        self.first = ""
        """The label of the first layouts table of all."""
        self.event = ""
        """That of the last invocation that succeeded. One that fails leaves nothing in the state."""

    def read(self, settings: SimulatedSettings) -> Read:
        """Read what a preview reads, by the program's own code.

        Raises:
            RunError: a table of the former home is gone.
        """
        former = former_home(NAMES, settings.home, settings.everywhere, self._item)
        record, copy = (self._item(table, settings.home, RECORD_KEY) for table in (LAYOUTS, MIRROR))
        return _stored(record), _stored(copy), former and former.record

    def _item(self, name: str, region: str, key: str) -> Mapping[str, Any]:
        table = self._world.database.tables.get((region, name.rpartition("-")[2]))
        if region in self._world.unreachable:
            return {}
        return GONE if table is None else table.items.get(key, {})

    def change(self, regions: Sequence[str], **others: Any) -> SimulatedSettings:
        """Return settings with other regions. Some of those that are left out are leaving, the others are dropped."""
        gone = sorted(self.tables.keys() - {*regions})
        leaving = [region for region in gone if self._random.random() < 0.5]
        return replace(self.settings, regions=regions, leaving=leaving, **others)

    def up(
        self, settings: SimulatedSettings, read: Read | None = None, *, refresh: bool = True, wrong_by: int = 0
    ) -> str:
        """Make the tables, and return the event that is sent to the coordinator, or "" if nothing has changed.

        `read` is what the preview has read, by default what there is now. With `refresh`, tables that are missing or
        others are noticed. The clock of the computer that deploys is `wrong_by` so many seconds.
        """
        record, copy, former = read or self.read(settings)
        world, self.settings = self._world, settings
        world.make_home(settings.home)
        label = world.layouts_label(settings.home)
        self.first = self.first or label
        for region in settings.regions:
            if region not in self.tables or refresh:
                world.make_table(region)
                self.tables[region] = world.tables[region].id
        asked = desired(settings, label, self.first, {region: self.tables[region] for region in settings.regions})
        sent = event(asked, record, copy, world.now + wrong_by, former)
        return "" if sent == self.event else sent

    def succeeded(self, sent: str) -> None:
        """Note that the coordinator has agreed, and delete what is gone from the settings."""
        world, self.event = self._world, sent or self.event
        for home in world.homes:
            if home != self.settings.home and self._random.random() < 0.5:  # protected ones stay until the next time
                for table in (LAYOUTS, MIRROR):
                    world.delete(at_home(table, home))
        for region in sorted(self.tables.keys() - {*self.settings.everywhere}):
            if self._random.random() < 0.8:  # the rest fails
                del self.tables[region]
                world.delete(region)
                world.delete(f"{RECEIPTS} {region}")

    def hear(self, refusal: str) -> None:
        """Note what a refusal says is to be done: to answer a loss, or to set another home region."""
        self.said = loss_named(refusal) or self.said
        if named := TO_SET.search(refusal):
            self.settings = replace(self.settings, home=named[1])


def _stored(item: Mapping[str, Any]) -> StoredRecord | None:
    return record_of(json.dumps(item), LAYOUTS) if item else None


def deployment_of(sent: str) -> Deploy:
    """Return the deployment that an event asks for."""
    request = request_of(json.loads(sent))
    assert isinstance(request, Deploy)
    return request


TO_SET = re.compile(r"set `?aws:region`? to (\w+)")
"""How a refusal names the home region that is to be deployed first."""

ASKED = re.compile(r"`recovery: \{loss: ([^,}]+), above")
"""What a refusal says about the answer to a loss."""


def loss_named(refusal: str) -> str:
    """Return the id of the loss that a refusal asks to answer; "" if it asks for none."""
    found = ASKED.search(refusal)
    return found[1] if found else ""
