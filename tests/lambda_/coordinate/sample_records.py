"""Desired states, records and registers for tests that need no table."""

import json
from dataclasses import replace
from typing import Any

from coordinate.protocol.model import DeploymentRecord, DesiredState, Item, Register, desired_state_of
from coordinate.protocol.plan import wanted_items

from proof.simulation.world import NOW

WINDOW = 1000


def desired(*regions: str, **settings: Any) -> DesiredState:
    """Return a desired state for these regions, with small windows."""
    return desired_state_of(
        json.dumps(desired_state_document(*regions, **settings), sort_keys=True, separators=(",", ":"))
    )


def desired_state_document(*regions: str, **settings: Any) -> dict[str, Any]:
    return {
        "regions": list(regions),
        "leaving": [],
        "counters": ["c"],
        "defaultCounter": "c",
        "floors": {},
        "recovery": {},
        "window": WINDOW,
        "scheduleMinutes": 5,
        "authorization": "AWS_IAM",
        "memorySize": 256,
        "tableLabels": {},
        "layoutsLabel": "home layouts 1",
        "firstLayoutsLabel": "home layouts 1",
        **settings,
    }


def record(
    *regions: str,
    number: int = 1,
    follows: int = 0,
    layouts_id: str = "layouts 1",
    token: str | None = None,
    **settings: Any,
) -> DeploymentRecord:
    """Return a record with its number as its token, if no other is given."""
    asked = desired(*regions, **settings)
    return DeploymentRecord(layouts_id, token or token_of(number), number, token_of(follows), NOW, asked)


def token_of(number: int) -> str:
    """Return the token of the record with this number; "" if it is 0."""
    return str(number or "")


def register(*regions: str, epoch: int = 3, base: int = 501, **changes: Any) -> Register:
    """Return a register in which every region takes part. The id of a region's table is `<region> 1`."""
    ids = tuple(f"{region} 1" for region in regions)
    limit = base - 1 + WINDOW * len(regions)
    return replace(Register("c", "layouts 1", epoch, regions, ids, base, limit, WINDOW, NOW), **changes)


def items_of(register: Register) -> dict[str, Item]:
    """Return the items of regions that follow the register and have minted nothing yet."""
    return wanted_items(register)


def ids_of(*regions: str) -> dict[str, str]:
    return {region: f"{region} 1" for region in regions}
