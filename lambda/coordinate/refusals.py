"""What the coordinator says when it stops: what was found, where, and what to do."""

from collections.abc import Sequence

from .model import HEADROOM, Item, Refused, Register

STOPPED = "Nothing more was changed for this counter."
"""True wherever a counter is refused: what this run or an earlier one has already written stays."""

BEGUN = f"A change of layout has begun and waits for this: fenced regions stop after {HEADROOM:,} more integers."


def lost(register: Register, region: str, item: Item | None) -> Refused:
    """Return the refusal of a region whose item is missing or of an earlier epoch."""
    found = "no item" if item is None or item.opening else f"an item of epoch {item.epoch}"
    least = register.base + 1
    begun = "" if register.next is None else f" {BEGUN}"
    return Refused(
        f"{register.counter}: {region} has {found} of this counter, but the layout is in epoch {register.epoch}: the "
        "region's counters table was lost or restored from a backup. Set a floor above every integer that it may have "
        f"minted, at least {least}, as `floors: {{{register.counter}: <integer>}}` in the stack's "
        f"settings, and deploy again; docs/runbook.md says how to find one. {STOPPED}{begun}"
    )


def newer(register: Register, region: str, item: Item) -> Refused:
    """Return the refusal of a register that is older than a region's item."""
    return Refused(
        f"{register.counter}: {region} has an item of epoch {item.epoch}, but the register is in epoch "
        f"{register.epoch}: the layouts table was restored from an old backup. Restore it to a later time "
        f"(point-in-time recovery) and deploy again. {STOPPED}"
    )


def lost_register(counter: str, regions: Sequence[str]) -> Refused:
    """Return the refusal of a counter that these regions have, but no register."""
    have = "has" if len(regions) == 1 else "have"
    return Refused(
        f"{counter}: {', '.join(regions)} already {have} an item of this counter, but the layouts table has no "
        "register of it. The usual cause is a changed `aws:region`: the home region can't be moved; set it back and "
        "deploy again. Otherwise the register was lost: restore the layouts table (point-in-time recovery) and deploy "
        "again. "
        f"{STOPPED}"
    )


def superseded(standing: Sequence[str]) -> Refused:
    """Return the refusal of a run after which another deployment has asked for other regions."""
    return Refused(
        f"regions: another deployment has since asked for {', '.join(standing)}. Nothing more was changed; "
        "deploy again if that is not what you want."
    )


def nothing_deployed(counter: str) -> Refused:
    """Return the refusal to create a counter before the first deployment."""
    return Refused(f"{counter}: nothing is deployed yet; deploy the stack first.")
