"""What the coordinator says when it stops: what was found, where, and what to do."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from global_integers_core.records import ADMITTED_KEY, RECORD_KEY

from .model import Elsewhere, Item, Items, Recovery, Refused, Register, TooMany, highest

NOTHING_CHANGED = "Nothing was changed."
"""True of a deployment that is refused before it is admitted."""

SHOWN = 10
"""How many lines of one kind are shown: traces, or refusals of counters."""


class LimitLost(Refused):
    """What was `found` of a counter whose limit is lost by a `loss`, and what answers it: at least `least`."""

    def __init__(self, found: str, loss: str, least: int) -> None:
        super().__init__(f"{found} {answer(loss, least)}")
        self.found, self.loss, self.least = found, loss, least


def lost_everything(
    layouts_id: str, traces: Mapping[str, Sequence[str]], loss: str = "", least: int = 0, *, another: bool = False
) -> Refused:
    """Return the refusal of a layouts table whose content is lost, together with its copy in the mirror.

    `traces` are what was found, and in which tables. `loss` is the id of the loss, which only a deployment finds out,
    and `least` the smallest number that answers it. `another` says that the settings name another loss.
    """
    every = [f"{what}: in {', '.join(tables)}" for what, tables in sorted(traces.items())]
    shown = [*every[:SHOWN], *[f"and {len(every) - SHOWN} more"] * (len(every) > SHOWN)]
    found = "".join(f"\n  {line}" for line in shown)
    todo = answer(loss, least) if loss else "Use `--refresh`. Deploy: the refusal says how to go on."
    named = "The loss in `recovery` is another one. " if another else ""
    return Refused(
        f"Neither the layouts table ({layouts_id}) nor its mirror has the deployment record, but there was a "
        "deployment: both tables were lost, or the home region of before doesn't answer, or a destroy was interrupted. "
        "If that region may answer again, wait for it; if a table there is gone, deploy with `--refresh`; if the stack "
        f"was to be destroyed, finish that. Meanwhile, regions go on minting what they still have. {named}{todo}{found}"
    )


def lost(counter: str, register: Register, items: Items) -> LimitLost:
    """Return the refusal of a counter whose limit is lost, until that is answered."""
    found = [f"{region} has an item of epoch {item.epoch}" for region, item in items.items() if isinstance(item, Item)]
    meanwhile = "Regions go on minting what they still have." if register.regions else "The counter was deleted."
    return LimitLost(
        f"{counter}: its register and the copy of it were lost, or are older than its items "
        f"({', '.join(found) or 'there are none'}). {meanwhile}",
        register.lost,
        highest(items),
    )


def joined(refusals: Iterable[Refused]) -> list[Refused]:
    """Return different refusals, the counters of one loss in one, with the number that does for all of them."""
    others: dict[str, Refused] = {}
    lost: dict[str, list[LimitLost]] = {}
    for each in refusals:
        if isinstance(each, LimitLost):
            lost.setdefault(each.loss, []).append(each)
        else:
            others.setdefault(str(each), each)
    for loss, counters in lost.items():
        more = [f"… and {len(counters) - SHOWN} more counters."] * (len(counters) > SHOWN)
        found = "\n".join([*(each.found for each in counters[:SHOWN]), *more])
        others[loss] = LimitLost(found, loss, max(each.least for each in counters))
    return [*others.values()]


def answer(loss: str, least: int) -> str:
    """Return what is to be done about a loss. Regions may mint up to `least`."""
    larger = f" Use {least} if that is larger: regions of these settings may mint up to it." if least else ""
    larger += " If any other region still mints, use the `ceiling` that its status says if that is larger."
    return (
        "Look into your own data for the largest integer that was ever minted. Answer this loss in the stack's "
        f"settings: `recovery: {{loss: {loss}, above: <that integer>}}`.{larger} Then deploy again; docs/runbook.md "
        "says more."
    )


def too_low(recovery: Recovery, least: int) -> Refused:
    """Return the refusal of an answer that is below what a region may mint."""
    return Refused(
        f"recovery: above: {recovery.above:,} is too low: regions may mint up to {least:,}. Set `recovery: {{loss: "
        f"{recovery.loss}, above: {least}}}`, or a larger integer if one was ever minted, and deploy again. "
        f"{NOTHING_CHANGED}"
    )


def another_loss(loss: str, losses: Iterable[str]) -> Refused:
    """Return the refusal of an answer to a loss that isn't there, while others are."""
    return Refused(
        f"recovery: there is no loss {loss}. There is another one: set `recovery: {{loss: {min(losses)}, above: "
        f"<integer>}}` in the stack's settings, with the largest integer that was ever minted, and deploy again. "
        f"{NOTHING_CHANGED}"
    )


def must_answer(regions: Sequence[str], counter: str = "") -> Refused:
    """Return the refusal to begin, or to go on after a loss, while a region doesn't answer."""
    prefix = f"{counter}: " if counter else ""
    return Refused(
        f"{prefix}{', '.join(regions)} must answer, with items that can be read: no register limits what is minted "
        "there. Deploy again when all regions answer. If one never will, docs/runbook.md says how to give it up; after "
        "a loss, `recovery.above` must cover what it may still mint."
    )


def stray(counter: str, table: str) -> Refused:
    """Return the refusal of a counter of which a table at home has something that can't be read."""
    return Refused(
        f"{counter}: the item of this counter in {table} can't be read: an attribute is missing or wrong. The layouts "
        "table and the mirror both have such an item. If the other one can be read, delete this one, and deploy again: "
        "the coordinator puts it back. docs/runbook.md says how. Nothing was changed for this counter."
    )


def stray_admitted() -> Refused:
    """Return the refusal of every run, since what is beside the record can't be read, and the record is lost."""
    return Refused(
        f"The item {ADMITTED_KEY} of the layouts table can't be read: an attribute is missing or wrong. Delete it, and "
        f"deploy again: the coordinator puts it back with the record. {NOTHING_CHANGED}"
    )


def elsewhere(home: str) -> Elsewhere:
    """Return the refusal of whatever is asked of a former home region."""
    return Elsewhere(
        f"The home region is {home} by now, or is about to be. Set `aws:region` to it and deploy, or ask the "
        f"coordinator there. {NOTHING_CHANGED}"
    )


def another_stacks(home: str) -> Refused:
    """Return the refusal to move to or from a region whose tables have the record of another stack."""
    return Refused(
        f"The layouts table and the mirror in {home} have the record of another stack of this name. If that is gone, "
        f"delete both tables, and deploy with `--refresh`; or choose another home region. {NOTHING_CHANGED}"
    )


def unreadable(home: str, table: str) -> Refused:
    """Return the refusal of every run, since the record can't be read."""
    return Refused(
        f"{home}: the item {RECORD_KEY} of the table {table} can't be read: an attribute is missing or wrong. If a "
        "version before 1.0.0 wrote it, deploy a new stack. Otherwise: the layouts table and its mirror both have this "
        "item. If the other one can be read, delete this one, and deploy again: the coordinator puts it back. Nothing "
        "more was changed."
    )


def superseded(regions: Sequence[str], home: str = "") -> Refused:
    """Return the refusal of a deployment whose preview is outdated, or hasn't found the record in a former `home`."""
    wanted = f" for {', '.join(regions)}" if regions else ""
    again = f" If this comes again, set `aws:region` to {home}, where the home was until now, deploy, and then move it."
    return Refused(
        f"regions: another deployment{wanted} was admitted since. Nothing more was changed; "
        f"deploy again if that is not what you want.{again if home else ''}"
    )


def outdated(asked: int, now: int) -> Refused:
    """Return the refusal of a deployment that was requested long ago."""
    at, today = (datetime.fromtimestamp(time, UTC).isoformat(timespec="minutes") for time in (asked, now))
    return Refused(
        f"This deployment was requested at {at}, and it is {today} now: it may be outdated. Deploy again, with "
        "`--refresh`. If the first time is wrong, set the clock of the computer that deploys. "
        f"{NOTHING_CHANGED}"
    )


def nothing_deployed(counter: str) -> Refused:
    """Return the refusal of what needs a deployment: there was none yet, or both of the home's tables were lost."""
    return Refused(
        f"{counter}: no deployment is on record. Deploy the stack. If there was one and its record is lost, the answer "
        "says how to go on."
    )


def lost_meanwhile(table: str) -> Refused:
    """Return the refusal of a run in which the layouts table or the mirror was replaced."""
    return Refused(f"The {table} was lost while the coordinator ran. Deploy again: the next run puts back what it had.")


def too_many(counter: str, most: int) -> TooMany:
    """Return the refusal of a counter that a caller wants to create."""
    return TooMany(
        f"{counter}: callers may create counters only while there are fewer than {most:,} (the setting maxCounters). "
        "An operator can delete some, create this one, or raise maxCounters."
    )


def in_settings(counters: Sequence[str]) -> Refused:
    """Return the refusal to delete counters of the settings."""
    return Refused(
        f"{', '.join(counters)}: the settings counters or floors have it. Remove it there and deploy, then delete "
        "it. Nothing was changed for this counter."
    )


def no_counter(counter: str) -> Refused:
    """Return the refusal to delete a counter that there isn't, or to grant integers of it."""
    return Refused(f"{counter}: there is no such counter. Nothing was changed for it.")


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


def no_region(regions: Sequence[str], counter: str = "") -> Refused:
    """Return the refusal of a deployment of which no region answers, or none with this counter's item."""
    what, then = (f"{counter}: ", "Nothing was deleted.") if counter else ("", NOTHING_CHANGED)
    return Refused(
        f"{what}none of {', '.join(regions)} answers with a table and an item that can be read, so no region of this "
        "layout could mint. Deploy again when one does. If its table was deleted, deploy with `--refresh`; if it has a "
        f"stray item, docs/runbook.md says what to do. {then}"
    )
