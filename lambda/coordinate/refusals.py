"""Refusals of new builds and of their releases: what was wrong, what callers reach, and what to do."""

from collections.abc import Mapping

from .check import Problem
from .events import Check
from .protocol.model import Refused
from .protocol.refusals import NOTHING_CHANGED

Moved = Mapping[str, bool | None]
"""Region → whether its alias leads to this build; None if it doesn't answer."""

AFTER_A_FAILURE = (
    "Correct the code or the settings and run `pulumi up` again, or run it with the previous commit. If the region "
    "itself is down, put it into the last wave of the setting `waves`. See docs/operations.md#a-build-that-fails."
)


BACK = "To let callers reach what they reached before, see docs/operations.md#the-way-back."


def unhealthy(asked: Check, problem: Problem, moved: Moved) -> Refused:
    """Return the refusal to go on with a deployment, since a new version of a minting function doesn't work."""
    unreached = "" if moved.get(asked.region) else "No caller reaches it. "
    back = f"{BACK} " if any(moved.values()) else ""
    if problem.text.startswith("GET /-/status: expected version"):
        back += f"{UNPUBLISHED} "
    return Refused(
        f"{asked.region}: version {asked.version} of the minting function ({asked.code}) doesn't work. {problem.text}. "
        f"{unreached}{_aliases(moved)} {back}{AFTER_A_FAILURE}{_log(problem)}"
    )


def unhealthy_for_callers(asked: Check, way: str, problem: Problem, moved: Moved, before: str) -> Refused:
    """Return the refusal to go on with a deployment, since what callers reach by this `way` doesn't work.

    They reached the version `before`; "" if there was none.
    """
    back = f"{BACK} " if before else ""
    return Refused(
        f"{asked.region}: version {asked.version} of the minting function has passed its check, but doesn't work by "
        f"the region's {way}, by which callers reach it now. {problem.text}. {_aliases(moved)} "
        f"{back}{AFTER_A_FAILURE}{_log(problem)}"
    )


def _aliases(moved: Moved) -> str:
    groups = {
        "Aliases that have moved to this build": [region for region, has in moved.items() if has],
        "that haven't": [region for region, has in moved.items() if has is False],
        "that don't answer": [region for region, has in moved.items() if has is None],
    }
    said = [f"{what}: {', '.join(sorted(found)) or 'none'}" for what, found in groups.items()]
    return "; ".join(said if groups["that don't answer"] else said[:2]) + "."


def _log(problem: Problem) -> str:
    log = problem.log.strip()
    return f"\nThe end of the function's log:\n{log}" if log else ""


def paused_from_the_start(region: str) -> Refused:
    """Return the refusal of a region that is paused before its function has ever been checked."""
    return Refused(
        f"{region}: it is paused, so its function can't be checked before callers reach it for the first time. Take it "
        "out of the setting `paused`, deploy, and pause it afterwards."
    )


def unmovable(region: str, problem: str, function: str = "minting function") -> Refused:
    """Return the refusal to go on with a deployment, since a region's alias can't be moved."""
    return Refused(
        f"{region}: the alias by which callers reach the {function} can't be moved: {problem}. Run `pulumi up` again; "
        "with --refresh if the alias or the function was deleted."
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


def not_moved(*, gone_back: bool) -> str:
    """Return why no alias was moved back: callers have `gone_back` already, or there is no version to go back to."""
    why = (
        "they have gone back from the newest build already"
        if gone_back
        else "there is nothing to go back to: no version before the newest build has passed its checks"
    )
    return f"No alias was moved. Callers stay where they are, because {why}. To leave these versions, deploy."


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


def denied(found: str) -> Refused:
    """Return the refusal of a new version of the coordinator that may not read aliases: `found` says which and why."""
    return Refused(
        f"the new version of the coordinator may not read the minting functions' aliases, so the previous one goes on. "
        f"{found}. Look for what denies lambda:GetAlias to its role, such as a permissions boundary, and run "
        f"`pulumi up` again. {NOTHING_CHANGED}"
    )
