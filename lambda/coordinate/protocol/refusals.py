"""What the coordinator says when it stops: what was found, where, and what to do."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from global_integers_core.records import RECORD_KEY

from .model import Item, Refused, Register, TooMany

NOTHING_CHANGED = "Nothing was changed."
"""True of a deployment that is refused before it is admitted."""


def lost_layouts(layouts_id: str, traces: Mapping[str, str] | None = None) -> Refused:
    """Return the refusal of a layouts table whose content is lost, together with its copy in the mirror."""
    found = "".join(f"\n  {what}: {trace}" for what, trace in sorted((traces or {}).items())[:10])
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


AFTER_A_FAILURE = (
    "Correct the code or the settings and run `pulumi up` again, or run it with the previous commit. If the region "
    "itself is down, put it into the last wave of the setting `waves`. See docs/operations.md#a-build-that-fails."
)


BACK = "To let callers reach what they reached before, see docs/operations.md#the-way-back."


def unhealthy(
    region: str, version: str, code: str, problem: str, log: str, moved: Mapping[str, bool | None]
) -> Refused:
    """Return the refusal to go on with a deployment, since a new version of a minting function doesn't work.

    `log` is the end of its log; `moved` says of each region whether its alias leads to this build, None if it doesn't
    answer.
    """
    unreached = "" if moved.get(region) else "No caller reaches it. "
    back = f"{BACK} " if any(moved.values()) else ""
    if problem.startswith("GET /-/status: expected version"):
        back += f"{UNPUBLISHED} "
    return Refused(
        f"{region}: version {version} of the minting function ({code}) doesn't work. {problem}. {unreached}"
        f"{_aliases(moved)} {back}{AFTER_A_FAILURE}{_log(log)}"
    )


def unhealthy_for_callers(
    region: str, way: str, version: str, problem: str, log: str, moved: Mapping[str, bool | None], before: str
) -> Refused:
    """Return the refusal to go on with a deployment, since what callers reach by this `way` doesn't work.

    They reached the version `before`; "" if there was none.
    """
    back = f"{BACK} " if before else ""
    return Refused(
        f"{region}: version {version} of the minting function has passed its check, but doesn't work by the region's "
        f"{way}, by which callers reach it now. {problem}. {_aliases(moved)} {back}{AFTER_A_FAILURE}{_log(log)}"
    )


def _aliases(moved: Mapping[str, bool | None]) -> str:
    groups = {
        "Aliases that have moved to this build": [region for region, has in moved.items() if has],
        "that haven't": [region for region, has in moved.items() if has is False],
        "that don't answer": [region for region, has in moved.items() if has is None],
    }
    said = [f"{what}: {', '.join(sorted(found)) or 'none'}" for what, found in groups.items()]
    return "; ".join(said if groups["that don't answer"] else said[:2]) + "."


def _log(log: str) -> str:
    return f"\nThe end of the function's log:\n{log.strip()}" if log.strip() else ""


def paused_from_the_start(region: str) -> Refused:
    """Return the refusal of a region that is paused before its function has ever been checked."""
    return Refused(
        f"{region}: it is paused, so its function can't be checked before callers reach it for the first time. Take it "
        "out of the setting `paused`, deploy, and pause it afterwards."
    )


def unmovable(region: str, problem: str) -> Refused:
    """Return the refusal to go on with a deployment, since a region's alias can't be moved."""
    return Refused(
        f"{region}: the alias by which callers reach the minting function can't be moved: {problem}. Run `pulumi up` "
        "again; with --refresh if the alias or the function was deleted."
    )


def outdated_release(region: str, version: str, present: str) -> Refused:
    """Return the refusal to move a region's alias to a version that is older than the one that callers reach."""
    return Refused(
        f"{region}: callers reach version {present} by now, so the alias doesn't move to version {version}: another "
        "deployment was faster. Nothing more was changed; deploy again if that is not what you want."
    )


def nothing_released() -> Refused:
    """Return the refusal to move aliases back of which none was ever moved."""
    return Refused("back: no alias was ever moved to a build, so there is nothing to go back to. Nothing was changed.")


def unmoved(moved: Mapping[str, str], failed: Mapping[str, str]) -> Refused:
    """Return the refusal of a way back that some regions didn't take.

    `moved` is region → version, `failed` region → error.
    """
    done = ", ".join(f"{region} (version {version})" for region, version in sorted(moved.items())) or "none"
    wrong = "; ".join(f"{region}: {error}" for region, error in sorted(failed.items()))
    return Refused(f'back: moved: {done}. Not moved: {wrong}. Send {{"back": true}} again when these answer.')


def unpublished(version: str, build: str) -> Refused:
    """Return the refusal of a version of the coordinator that is of another build than it must be."""
    return Refused(
        f"version {version} of the coordinator isn't of build {build}, so the previous one goes on: an update may have "
        f"failed before it was published. {UNPUBLISHED} {NOTHING_CHANGED}"
    )


UNPUBLISHED = "See docs/operations.md#a-version-that-wasnt-published."


def unusable(what: str, why: str) -> Refused:
    """Return the refusal of a new version of the coordinator that can't read a table."""
    return Refused(
        f"the new version of the coordinator can't use {what} ({why}), so the previous one goes on. If the table was "
        f"deleted, run `pulumi up --refresh`; otherwise correct the code or the settings, and run `pulumi up` again. "
        f"{NOTHING_CHANGED}"
    )


def denied(regions: Mapping[str, str]) -> Refused:
    """Return the refusal of a new version of the coordinator that may not read the aliases of these regions."""
    found = "; ".join(f"{region}: {error}" for region, error in sorted(regions.items()))
    return Refused(
        f"the new version of the coordinator may not read the minting functions' aliases, so the previous one goes on. "
        f"{found}. Look for what denies lambda:GetAlias to its role, such as a permissions boundary, and run "
        f"`pulumi up` again. {NOTHING_CHANGED}"
    )
