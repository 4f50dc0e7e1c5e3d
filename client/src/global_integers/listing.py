"""The counters of a stack, what they have minted, and how fast: for the command `global-integers counters`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .minting import Client, api
from .minting.api import Failure, FailureKind
from .minting.threads import run


@dataclass
class CounterState:
    """A counter as the regions that answered saw it.

    Attributes:
        epoch: the newest one that a region knows; None: no region knows the counter.
        base: no integer of this epoch is below it.
        at: the client's time of the answers.
        positions: region → the last integer that it has minted, and its stride, in that epoch.
        reasons: region → why it doesn't mint the counter.
    """

    counter: str
    at: float
    epoch: int | None = None
    base: int = 1
    positions: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def position(self) -> int | None:
        """The largest integer minted so far; below `base` before the first one of the epoch. None: unknown."""
        return max((position for position, _ in self.positions.values()), default=None)

    def rate(self, before: "CounterState") -> float | None:
        """Return the integers per second since an earlier look, with those that functions have leased.

        None: it isn't known, since the epoch has changed or other regions answered.
        """
        if self.epoch is None or self.epoch != before.epoch or self.positions.keys() != before.positions.keys():
            return None
        minted = sum((now - before.positions[region][0]) / stride for region, (now, stride) in self.positions.items())
        return minted / max(self.at - before.at, 0.001)


def names_of(client: Client) -> list[str]:
    """Return the names of all counters that a region lists, in alphabetical order.

    Raises:
        Refused: the stack doesn't list its counters (`openCounters` is off).
        Unavailable: all regions failed.
    """
    names: set[str] = set()
    after: str | None = ""
    while after is not None:
        page, after = run(client.call(api.counters(after), client.options.deadline()))
        names |= {*page}
    return sorted(names)


def ask_all(client: Client, counter: str) -> Iterator[tuple[str, Mapping[str, Any] | Failure]]:
    """Ask all regions, at the same time, for the state of a counter, "" for the default one."""
    run(client.state.locate(client.options.deadline()))
    regions, request = client.state.regions.names, api.status(counter)
    calls = [partial(client.state.ask, region, request) for region in regions]
    answers = run(client.state.io.run_all(calls, client.options.timeout))
    for region, answer in zip(regions, answers, strict=True):
        yield region, Failure(FailureKind.SILENT, "no response") if answer is None else answer


def look(client: Client, counters: Iterable[str]) -> list[CounterState]:
    """Ask for the state of one counter after the other."""
    return [_state(client, counter) for counter in counters]


def _state(client: Client, counter: str) -> CounterState:
    answers = [*ask_all(client, counter)]
    state = CounterState(counter, client.options.clock())
    for asked, answer in answers:
        if isinstance(answer, Failure):
            state.reasons[asked] = answer.reason
        else:
            _add(state, asked, answer)
    return state


def _add(state: CounterState, asked: str, answer: Mapping[str, Any]) -> None:
    region = str(answer.get("region", asked))  # at a domain, any region may answer
    epoch, position, stride = (answer.get(name) for name in ("epoch", "position", "stride"))
    if answer.get("reason"):
        state.reasons[region] = str(answer["reason"])
    if type(epoch) is not int or type(position) is not int or type(stride) is not int or stride < 1:
        return
    if state.epoch is None or epoch > state.epoch:
        base = answer.get("base")
        state.epoch, state.base, state.positions = epoch, base if type(base) is int else 1, {}
    if epoch == state.epoch:
        state.positions[region] = position, stride
