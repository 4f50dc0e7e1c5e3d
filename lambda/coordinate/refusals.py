"""What the coordinator says when it won't go on: what was found, where, and what to do."""

from collections.abc import Sequence

from .model import Item, Refused, Register


def lost(register: Register, region: str, item: Item | None) -> Refused:
    found = "no item" if item is None or item.opening else f"an item of epoch {item.epoch}"
    return Refused(
        f"{register.counter}: {region} has {found} of this counter, but the layout is in epoch {register.epoch}: the "
        "region's counter table was lost or restored from a backup. Set a floor above every integer that it may have "
        f"minted, at least {register.base + 1} (pulumi config set --path floors.{register.counter} <integer>), and "
        "deploy again; docs/runbook.md says how to find one. This counter was left as it is."
    )


def newer(register: Register, region: str, item: Item) -> Refused:
    return Refused(
        f"{register.counter}: {region} has an item of epoch {item.epoch}, but the register is in epoch "
        f"{register.epoch}: the layouts table was restored from an old backup. Restore it to a later time "
        "(point-in-time recovery) and deploy again. This counter was left as it is."
    )


def lost_register(counter: str, regions: Sequence[str]) -> Refused:
    return Refused(
        f"{counter}: {', '.join(regions)} already has an item of this counter, but the layouts table has no register "
        "of it: the register was lost. Restore the layouts table (point-in-time recovery) and deploy again. "
        "This counter was left as it is."
    )


def superseded(standing: Sequence[str]) -> Refused:
    return Refused(
        f"regions: another deployment has since asked for {', '.join(standing)}. Nothing more was changed; "
        "deploy again if that is not what you want."
    )


def nothing_deployed(counter: str) -> Refused:
    return Refused(f"{counter}: nothing is deployed yet; deploy the stack first.")
