"""Whether anybody may still get an integer up to a number: for the command `global-integers check --above`.

What a region mints only grows, and every later epoch begins above it. So a region mints nothing up to a number once it
has minted that, or once its epoch's base lies above it. A region that has left mints nothing more once its item is
closed in the newest epoch. So every region must answer that had the counter once, unless it was deleted.

What was minted before may be handed out later, from a lease or by a slow call. Nobody can see that, so it must be
waited for, unless the counter began above the number.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, cast

from .listing import ask_all
from .minting import Client
from .minting.api import REGION, Failure

LEASED = 10
"""Seconds for which a function hands out what it has leased (docs/layouts.md, "What was leased before")."""

CALL = 30
"""Seconds that a function's call takes at most. When its response arrives, a client's lease begins."""


class Finding(NamedTuple):
    """Why a counter may still mint integers up to a number, what to do, and whether it may have minted any before."""

    counter: str
    wrong: list[str]
    hints: list[str]
    minted: bool


def seconds_to_wait(lease_seconds: int) -> int:
    """Return after how many seconds nothing is handed out that was minted before, if clients lease for so long."""
    return CALL + max(LEASED, lease_seconds)


def find(client: Client, counter: str, above: int, deleted: Collection[str]) -> Finding:
    """Ask all regions for a counter's state, "" for the default one, and judge their answers."""
    return judge(counter, ask_all(client, counter), above, deleted)


def judge(
    counter: str, answers: Iterable[tuple[str, Mapping[str, Any] | Failure]], above: int, deleted: Collection[str]
) -> Finding:
    """Return what follows from the regions' answers. Those that were `deleted` needn't answer."""
    found = Finding(counter, [], [], minted=True)
    states: dict[str, Mapping[str, Any]] = {}
    silent: set[str] = set()
    for asked, answer in answers:
        why = _unknown(asked, counter, answer)
        if isinstance(answer, Failure) and asked in deleted:
            continue
        if isinstance(answer, Failure) or why:
            silent.add(asked)
            found.wrong.append(f"{asked}: {why}")
            found.hints.extend([answer.hint] if isinstance(answer, Failure) and answer.hint else [])
        else:
            states[str(answer["region"])] = answer
            found = found._replace(counter=str(answer["counter"]))
    newest = max((state["epoch"] for state in states.values()), default=0)
    present = {region for state in states.values() for region in state["regions"]}
    for region, state in states.items():
        if _least(state) <= above and region in present:
            found.wrong.append(f"{region} may mint {_which(state, above)}")
            floor = f"floors.{found.counter} {above + 1}"
            here = f"-c 'floors={{\"{found.counter}\": {above + 1}}}'"
            found.hints.append(
                f"Set a floor: `pulumi config set --path {floor}`, then `pulumi up`; on one machine, "
                f"`.venv/bin/python -m local up` with the options of the last time and {here}. Then check again"
            )
        elif _least(state) <= above and not _is_closed(state, newest):
            which = _which(state, above)
            found.wrong.append(f"{region} has left, but may mint {which} until a scheduled run has closed it")
    bases = [(region, base) for state in states.values() for region, base in state["bases"].items()]
    for region in dict.fromkeys(region for region, base in bases if base <= above):
        if region in deleted and region in present:
            found.wrong.append(f"{region} is in the layout, so it is not deleted")
        elif region not in {*states, *silent, *deleted}:
            found.wrong.append(f"{region} had the counter, and wasn't asked")
            found.hints.append(f"Take the URLs from the stack's outputs; once {region} is deleted, --deleted {region}")
    return found._replace(minted=any(base <= above for _, base in bases))


def _unknown(asked: str, counter: str, answer: Mapping[str, Any] | Failure) -> str:
    """Return why a region's answer doesn't tell what it may mint; "" if it does."""
    if isinstance(answer, Failure):
        return answer.reason
    if REGION.fullmatch(asked) and answer.get("region") != asked:
        return f"the response is of the region {answer.get('region')!r}"
    if not isinstance(name := answer.get("counter"), str) or name != (counter or name):
        return f"the response is about counter {name!r}"
    if not _are_integers(answer.get(name) for name in ("epoch", "position", "ceiling")):
        return str(answer.get("reason") or "the response has no position")
    bases, regions = answer.get("bases"), answer.get("regions")
    if not isinstance(bases, Mapping) or not _are_integers(cast("Mapping[str, Any]", bases).values()):
        return "its response has no bases; is its version older than this command's?"
    if not bases or not isinstance(regions, list):
        return "it has no layouts on record; the next scheduled run writes them"
    return ""


def _are_integers(values: Iterable[object]) -> bool:
    return all(type(value) is int for value in values)


def _least(state: Mapping[str, Any]) -> int:
    """Return the least integer that a region may mint in its epoch or a later one."""
    base = state.get("base")
    return max(state["position"] + 1, base if type(base) is int else 1)


def _which(state: Mapping[str, Any], above: int) -> str:
    """Return in words which integer up to a number a region may mint: its own next one, or those of a later epoch."""
    least, stride = _least(state), state.get("stride")
    following = state["position"] + stride if type(stride) is int and not state.get("fenced") else 0
    return str(following) if least <= following <= above else f"from {least} on"


def _is_closed(state: Mapping[str, Any], newest: int) -> bool:
    """Return whether a region that isn't in the layout mints nothing before a later epoch, which begins above all."""
    return bool(state.get("fenced")) and state["position"] >= state["ceiling"] and state["epoch"] == newest
