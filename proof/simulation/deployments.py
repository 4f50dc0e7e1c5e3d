"""Deployments as `pulumi up` makes them, by the program's own event."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from coordinate.dynamodb.encoding import attributes_of
from coordinate.events import request_of
from coordinate.protocol.model import Deploy, DeploymentRecord, DesiredState, desired_state_of

from components.coordinator.deployment import StoredRecord, default_counter, event, record_of
from components.settings.values import canonical

from .checks import CheckedWorld
from .world import Archive

HEADROOM = 2
WINDOW = 12


def desired(
    regions: Sequence[str],
    leaving: Sequence[str] = (),
    *,
    counters: Sequence[str] = ("c",),
    floors: Mapping[str, int] | None = None,
    layouts_label: str = "layouts 1",
    first: str = "layouts 1",
    default: str = "",
    chosen: bool | None = None,
    tables: Mapping[str, str] | None = None,
    headroom: int = HEADROOM,
    window: int = WINDOW,
) -> dict[str, Any]:
    """Return what a deployment of a small world asks for. After a loss, a floor and the default counter are needed."""
    return {
        "regions": list(regions),
        "leaving": list(leaving),
        "counters": list(counters),
        "floors": dict(floors or {}),
        "window": window,
        "headroom": headroom,
        "scheduleMinutes": 1,
        "layoutsLabel": layouts_label,
        "firstLayoutsLabel": first,
        "defaultCounter": default or counters[0],
        "defaultChosen": "*" in (floors or {}) if chosen is None else chosen,
        "tableLabels": dict(tables or {}),
    }


def decoded(asked: Mapping[str, Any]) -> DesiredState:
    """Return a desired state as the coordinator reads it."""
    return desired_state_of(canonical(asked))


@dataclass(frozen=True)
class SimulatedSettings:
    """A stack's settings."""

    regions: tuple[str, ...]
    leaving: tuple[str, ...] = ()
    floors: Mapping[str, int] = field(default_factory=dict[str, int])
    window: int = WINDOW
    default: str = ""
    """The default counter, if it is named."""


class SimulatedPulumi:
    """The program, and Pulumi's state. What it knows of the tables may be outdated."""

    def __init__(self, world: CheckedWorld, random: Random, counters: Sequence[str]) -> None:
        self._world = world
        self._random = random
        self.counters = counters
        """Those of the settings."""
        self.tables: dict[str, str] = {}
        """The regions that it has made, and the ids of their tables, as its state has them."""
        self.first = ""
        self.stood = False
        """Whether a deployment has succeeded."""
        self.settings: SimulatedSettings | None = None
        """Those of the last `up`."""
        self._event: str | None = None
        """That of the last invocation that succeeded. One that fails leaves nothing in the state."""

    def forget(self) -> None:
        """Lose Pulumi's state, and import the tables into a new one."""
        self.first, self._event = "", None

    def change(self, regions: tuple[str, ...], floors: Mapping[str, int]) -> SimulatedSettings:
        """Return settings with other regions. Some of those that are left out are leaving, the others are dropped."""
        gone = sorted(self.tables.keys() - set(regions))
        leaving = tuple(region for region in gone if self._random.random() < 0.5)
        return self.naming(SimulatedSettings(regions, leaving, floors))

    def naming(self, settings: SimulatedSettings) -> SimulatedSettings:
        """Return the settings with the default counter, where it must be named."""
        record = self._known(self._world.layouts.record)
        if record is None or not record.default_before or settings.default:
            return settings
        return replace(settings, default=record.default_counter)

    def _known(self, read: DeploymentRecord | None) -> StoredRecord | None:
        copy = self._world.mirror.record
        return _stored(read or (copy and copy.original))

    def up(
        self,
        settings: SimulatedSettings,
        read: DeploymentRecord | None,
        *,
        refresh: bool,
        wrong_by: int = 0,
        default: str | None = None,
    ) -> str | None:
        """Make the tables, and return the event that is sent to the coordinator, or None if nothing has changed.

        `read` is what the preview has read, `default` what `/` mints from by now. With `refresh`, tables that are
        missing or others are noticed. The clock of the computer that deploys is `wrong_by` so many seconds.
        """
        world = self._world
        now = world.now + wrong_by
        self.settings = settings
        self.first = self.first or world.layouts.id
        if refresh and world.archive is None:
            world.archive = Archive(id=world.new_id("archive"))
        for region in settings.regions:
            if region not in self.tables or refresh:
                world.make_table(region)
                self.tables[region] = world.tables[region].id
        asked = desired(
            settings.regions,
            settings.leaving,
            counters=self.counters,
            floors=settings.floors,
            layouts_label=world.layouts.id,
            first=self.first,
            tables={region: self.tables[region] for region in settings.regions},
            window=settings.window,
            default=default or self.default(settings, read),
            chosen=bool(settings.default),
        )
        known = _stored(read)
        sent = event(asked, known, now)
        if world.without == "event: the record's own" and known is not None:
            sent = event(asked, None, world.now).replace('"follows":""', f'"follows":"{known.token}"')
        return None if sent == self._event else sent

    def default(self, settings: SimulatedSettings, read: DeploymentRecord | None) -> str:
        """Return what `/` is to mint from, or raise `SettingsError`. `read` is what the preview has read."""
        return default_counter(settings.default, self.counters, self._known(read))

    def succeeded(self, sent: str | None) -> list[str]:
        """Note that the coordinator has agreed. Return the regions that are now deleted."""
        self._event = sent or self._event
        self.stood = True
        assert self.settings is not None
        stays = {*self.settings.regions, *self.settings.leaving}
        deleted = [region for region in sorted(self.tables) if region not in stays]
        deleted = [region for region in deleted if self._random.random() < 0.8]  # the rest fails
        for region in deleted:
            del self.tables[region]
        return deleted


def _stored(read: DeploymentRecord | None) -> StoredRecord | None:
    return record_of(json.dumps(attributes_of(read))) if read is not None else None


def deployment_of(sent: str) -> Deploy:
    """Return the deployment that an event asks for."""
    request = request_of(json.loads(sent))
    assert isinstance(request, Deploy)
    return request
