"""What the coordinator says when it stops: what was found, where, and what to do."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from global_integers_core.records import RECORD_KEY

from .model import Item, Refused, Register, TooMany

NOTHING_CHANGED = "Nothing was changed."
"""True of a deployment that is refused before it is admitted."""

SHOWN = 10
"""How many lines of one kind are shown: traces, or refusals of counters."""


def lost_layouts(layouts_id: str, traces: Mapping[str, str] | None = None, only: str = "") -> Refused:
    """Return the refusal of a layouts table whose content is lost, together with its copy in the mirror.

    `traces` are of all regions, or of the `only` one that was asked.
    """
    every = [f"{what}: {trace}" for what, trace in sorted((traces or {}).items())]
    shown = [*every[:SHOWN], *[f"and {len(every) - SHOWN} more"] * (len(every) > SHOWN)]
    found = "".join(f"\n  {line}" for line in [*shown, *[f"other regions than {only} were not asked"] * bool(only)])
    return Refused(
        f"Neither the layouts table ({layouts_id}) nor its mirror has the deployment record, but there was a "
        "deployment: both tables were lost, or the home region was changed, or a destroy was interrupted. If "
        "`aws:region` was changed, set it back; if the stack was to be destroyed, finish that. Otherwise set a floor "
        "above every integer that was ever minted, for all counters, and name the counter that `/` has minted from: in "
        'the stack\'s settings, `floors: {"*": <integer>}` and `defaultCounter: <counter>`. Then deploy again; '
        f"docs/runbook.md says how to find them. {NOTHING_CHANGED}{found}"
    )


def another_default(before: str, counter: str) -> Refused:
    """Return the refusal to let `/` mint from another counter though the settings don't name it."""
    return Refused(
        f"/ mints from {before}, and from {counter} its callers may get integers that they got before. If that is what "
        f"you want, set `defaultCounter: {counter}` in the stack's settings; otherwise `defaultCounter: {before}`; and "
        f"deploy again. {NOTHING_CHANGED}"
    )


def unnamed_default(default: str, before: str) -> Refused:
    """Return the refusal of settings that don't name the default counter, though it has changed once."""
    return Refused(
        f"/ was changed from {before} to {default}, so the settings must always name its counter: set `defaultCounter: "
        f"{default}` in the stack's settings, or the other one, and deploy again. {NOTHING_CHANGED}"
    )


def not_put_back() -> Refused:
    """Return the refusal to change the default counter while the record is only in the mirror."""
    return Refused(
        "The layouts table was lost, and its record isn't back from the mirror yet, so `/` goes on minting from the "
        f"same counter. The next scheduled run puts it back; deploy again after that. {NOTHING_CHANGED}"
    )


def unanswered(regions: Sequence[str]) -> Refused:
    """Return the refusal of a first deployment for which a region didn't answer."""
    return Refused(
        f"{', '.join(regions)} must answer, since there is no deployment record: integers may have been minted there "
        "of which no table at home knows. Deploy again when all regions answer, or remove this one from the stack's "
        f"settings. {NOTHING_CHANGED}"
    )


def lost_register(counter: str, regions: Sequence[str]) -> Refused:
    """Return the refusal of a counter without a register, of which these regions have an item."""
    where = f"{', '.join(regions)} already {'has' if len(regions) == 1 else 'have'} an item of this counter"
    return Refused(
        f"{counter}: {where if regions else 'there was a register of this counter'}, but the layouts table and its "
        "mirror have no register of it: both were lost. Set a floor above every integer that the counter may have "
        f"minted, as `floors: {{{counter}: <integer>}}` in the stack's settings, and deploy again; docs/runbook.md "
        "says how to find one. Nothing was changed for this counter."
    )


def ahead(register: Register, region: str, item: Item) -> Refused:
    """Return the refusal of a region's item that the register hasn't given."""
    return Refused(
        f"{register.counter}: {region} has an item of epoch {item.epoch}, but the register is in epoch "
        f"{register.epoch}: the layouts table and its mirror were lost or restored together, or the item is one of "
        "another stack. Set a floor above every integer that the counter may have minted, at least "
        f"{max(register.base, item.issued) + 1}, as `floors: {{{register.counter}: <integer>}}` in the stack's "
        "settings, and deploy again; docs/runbook.md says how to find one. Nothing was changed for this counter."
    )


def stray(counter: str, table: str) -> Refused:
    """Return the refusal of a counter of which a table at home has something that can't be read."""
    return Refused(
        f"{counter}: the item of this counter in {table} can't be read: an attribute is missing or wrong. The layouts "
        "table and the mirror both have such an item. If the other one can be read, delete this one, and deploy again: "
        "the coordinator puts it back. docs/runbook.md says how. Nothing was changed for this counter."
    )


def unreadable(home: str, table: str) -> Refused:
    """Return the refusal of every run, since the record can't be read."""
    return Refused(
        f"{home}: the item {RECORD_KEY} of the table {table} can't be read: an attribute is missing or wrong. The "
        "layouts table and its mirror both have this item. If the other one can be read, delete this one, and deploy "
        "again: the coordinator puts it back. Nothing more was changed."
    )


def unfenced(counter: str, regions: Sequence[str]) -> Refused:
    """Return the refusal to begin a counter again while a region can't be fenced, which may mint above the floor."""
    return Refused(
        f"{counter}: {', '.join(regions)} must answer, with an item that can be read: a floor covers what was minted, "
        "but no register limits what is minted there from now on. Deploy again when it does; docs/runbook.md says "
        "what to do about a stray item. If it never will, remove the region from the stack's settings, and set a floor "
        "above all that it may still mint. Nothing was changed for this counter."
    )


def superseded(regions: Sequence[str]) -> Refused:
    """Return the refusal of a deployment whose preview is outdated."""
    wanted = f" for {', '.join(regions)}" if regions else ""
    return Refused(
        f"regions: another deployment{wanted} was admitted since. Nothing more was changed; "
        "deploy again if that is not what you want."
    )


def outdated(asked: int, now: int) -> Refused:
    """Return the refusal of a deployment that was requested long ago."""
    at, today = (datetime.fromtimestamp(time, UTC).isoformat(timespec="minutes") for time in (asked, now))
    return Refused(
        f"This deployment was requested at {at}, and it is {today} now: it may be outdated. Deploy again; if the "
        f"first time is wrong, set the clock of the computer that deploys. {NOTHING_CHANGED}"
    )


def nothing_deployed(counter: str) -> Refused:
    """Return the refusal to create a counter before the first deployment."""
    return Refused(f"{counter}: nothing is deployed yet; deploy the stack first.")


def no_register(counter: str) -> Refused:
    """Return the refusal to grant integers of a counter that isn't registered."""
    return Refused(f"{counter}: there is no register of this counter, so it is granted nothing. Nothing was changed.")


def mirror_lost() -> Refused:
    """Return the refusal of a run in which the mirror was replaced."""
    return Refused("The mirror was lost while the coordinator ran. Deploy again; the next run writes it anew.")


def layouts_lost_meanwhile() -> Refused:
    """Return the refusal of a run in which the layouts table was replaced."""
    return Refused(
        "The layouts table was lost while the coordinator ran. Deploy again; the next run puts back what the mirror "
        "has."
    )


def archive_unreachable(counter: str) -> Refused:
    """Return the refusal to begin a counter while nobody knows whether one of this name was deleted."""
    return Refused(
        f"{counter}: the archive doesn't answer. It says whether a counter of this name was deleted. Send the event "
        "again, or deploy again. Nothing was changed for this counter."
    )


def too_many(counter: str, most: int) -> TooMany:
    """Return the refusal of a counter that a caller wants to create."""
    return TooMany(
        f"{counter}: callers may create counters only while there are fewer than {most:,} (the setting maxCounters). "
        "An operator can delete some, create this one, or raise maxCounters."
    )


def being_deleted(counter: str) -> Refused:
    """Return the refusal to begin a counter before the former one of this name is gone."""
    return Refused(
        f"{counter}: a counter of this name is still being deleted, and scheduled runs go on with that. Send the event "
        "again in a few minutes."
    )


def in_settings(counters: Sequence[str]) -> Refused:
    """Return the refusal to delete counters of the settings."""
    return Refused(
        f"{', '.join(counters)}: the settings counters or floors have it. Remove it there and deploy, then delete "
        "it. Nothing was changed for this counter."
    )


def no_counter(counter: str) -> Refused:
    """Return the refusal to delete a counter that there isn't."""
    return Refused(f"{counter}: there is no such counter.")


def undeletable(counter: str, regions: Sequence[str]) -> Refused:
    """Return the refusal to delete a counter while a region doesn't answer."""
    return Refused(
        f"{counter}: {', '.join(regions)} must answer, with an item that can be read, or this counter would go on "
        "there. Delete the counter when it does, or remove the region from the stack's settings first. Nothing was "
        "changed for this counter."
    )


def unknown_floors(counters: Sequence[str]) -> Refused:
    """Return the refusal of floors for counters that don't exist."""
    return Refused(
        f"floors: there is no counter {', '.join(counters)}; add it to counters, or remove it from floors. "
        f"{NOTHING_CHANGED}"
    )


def no_region(counter: str, regions: Sequence[str]) -> Refused:
    """Return the refusal of a deployment after which no region of the layout has a counter's item."""
    return Refused(
        f"{counter}: none of {', '.join(regions)} answers, so no region of this layout could mint the counter. Deploy "
        "again when one does; the schedule goes on trying. Nothing was deleted."
    )


def nowhere(regions: Sequence[str]) -> Refused:
    """Return the refusal to admit a deployment of which no region answers."""
    return Refused(
        f"none of {', '.join(regions)} answers, so no region of this layout could mint. Deploy again when one does. "
        f"{NOTHING_CHANGED}"
    )
