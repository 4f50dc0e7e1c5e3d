"""What the settings ask the coordinator for, and how many counters that can be asked for at once."""

import json
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from integers.lattice import MAX_INTEGER, places
from integers.names import CHECK_COUNTER

from .record import canonical

if TYPE_CHECKING:
    from .settings import Settings

MAX_RECORD = 409_600
"""Bytes of an item, with the names of its attributes (DynamoDB guide, "Quotas": 400 KB). The record is one item."""

MAX_REPLY = 6_291_556
"""Bytes of a function's response (Lambda's error `Function.ResponseSizeTooLarge` names this number)."""

MAX_EPOCH = 999_999
"""No counter gets this far: a change of regions every hour for a century begins 876,600 epochs."""

LABEL = "2026-11-21T00:00:00.000"
"""As long as the label of any table's stream."""

OTHERS = 1024
"""Bytes for the other attributes of the record and of its copy, which have about 250, and a margin."""


def wish_of(settings: "Settings") -> dict[str, Any]:
    """Return the part of a wish that comes from the settings."""
    return {
        "regions": list(settings.regions),
        "leaving": list(settings.leaving),
        "counters": [*settings.counters, CHECK_COUNTER],
        "floors": dict(settings.floors),
        "window": settings.window,
        "headroom": settings.headroom,
        "watchMinutes": settings.watch_minutes,
    }


def fitting(settings: "Settings") -> int:
    """Return how many of the settings' counters, the first ones, fit into the record and into the reply.

    0 or less means that none fits. The record holds the wish, and each counter's epoch and base. The reply has each
    counter's layout. Both are taken at their largest: the largest numbers, and every region pending.
    """
    regions = [*settings.regions, *settings.leaving]
    home = f"{settings.home} {LABEL}"
    others = {"counters": [CHECK_COUNTER], "tables": dict.fromkeys(regions, LABEL), "home": home, "first": home}
    standing = {"epoch": MAX_EPOCH, "base": MAX_INTEGER}
    layout = {region: place._asdict() for region, place in places(settings.regions).items()}
    noted = json.dumps(standing)
    replied = json.dumps({**standing, "limit": MAX_INTEGER, "regions": layout, "pending": regions})
    pending = json.dumps({"counters": {}, "created": [], "pending": regions, "registered": MAX_INTEGER})
    record = len(canonical({**wish_of(settings), **others})) + len(pending) + OTHERS
    return min(
        _first((len(f'"{name}","{name}": {noted}, ') for name in settings.counters), record, MAX_RECORD),
        _first((len(f'"{name}": {replied}, "{name}", ') for name in settings.counters), len(pending), MAX_REPLY),
    )


def _first(sizes: Iterable[int], before: int, room: int) -> int:
    """Return how many of these sizes, the first ones, fit into `room` after `before`; -1 if not even `before` does."""
    return bisect_right(list(accumulate(sizes, initial=before)), room) - 1
