"""Deployments as `pulumi up` makes them, as far as the coordinator can notice."""

import json
from collections.abc import Sequence
from random import Random

from coordinate.accept import Deployment
from coordinate.model import Record, Wish

from .checked import CheckedWorld

HEADROOM = 2
WINDOW = 12


def wish_of(
    regions: Sequence[str],
    leaving: Sequence[str] = (),
    *,
    counters: Sequence[str] = ("c",),
    floors: dict[str, int] | None = None,
    home: str = "layouts 1",
    first: str = "layouts 1",
) -> Wish:
    """Return the wish of a deployment of a small world."""
    text = json.dumps([list(regions), list(leaving), list(counters), floors, home, first])
    return Wish(tuple(regions), tuple(leaving), tuple(counters), floors or {}, WINDOW, HEADROOM, 1, home, first, text)


class Pulumi:
    """The program, and Pulumi's state. What it knows of the tables may be outdated."""

    def __init__(self, world: CheckedWorld, random: Random, counters: Sequence[str]) -> None:
        self._world = world
        self._random = random
        self._counters = counters
        self.regions: set[str] = set()
        """The regions that it has made."""
        self.first = ""
        self.stood = False
        """Whether a deployment has succeeded."""
        self._event: tuple[str, int] | None = None
        """The text and the number of the last invocation that succeeded."""
        self._layout: tuple[str, ...] = ()

    def preview(self) -> Record | None:
        """Return the record, as a preview reads it."""
        return self._world.layouts.record

    def up(
        self, regions: tuple[str, ...], read: Record | None, *, refresh: bool, now: int, floors: dict[str, int]
    ) -> Deployment | None:
        """Make the tables, and return what the coordinator is asked, or None if nothing has changed.

        Args:
            regions: the layout that the settings have.
            read: the record that the preview has read.
            refresh: whether tables that are missing are noticed.
            now: seconds since 1970.
            floors: the floors that the settings have.
        """
        random, world = self._random, self._world
        self.first = self.first or world.layouts.id
        for region in regions:
            if region not in self.regions or refresh:
                world.make_table(region)
        gone = sorted(self.regions - set(regions))
        leaving = tuple(region for region in gone if random.random() < 0.5)
        self.regions |= set(regions)
        self._layout = (*regions, *leaving)
        wish = wish_of(
            regions, leaving, counters=self._counters, floors=floors, home=world.layouts.id, first=self.first
        )
        same = read is not None and read.settled and read.wish.text == wish.text
        follows = read.follows if read is not None and same else read.number if read is not None else 0
        if self._event == (wish.text, follows):
            return None
        return Deployment(wish, follows, now)

    def succeeded(self, deployment: Deployment | None) -> list[str]:
        """Note that the coordinator has agreed. Return the regions that are now deleted."""
        if deployment is not None:
            self._event = (deployment.wish.text, deployment.follows)
        self.stood = True
        deleted = [region for region in sorted(self.regions) if region not in self._layout]
        deleted = [region for region in deleted if self._random.random() < 0.8]  # the rest fails
        self.regions -= set(deleted)
        return deleted
