"""A whole run of the coordinator as one generator: what `coordinate/handler.py` does, one counter after the other."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from coordinate.accept import Deployment, accept, finish
from coordinate.model import Record, Refused
from coordinate.operations import Operation
from coordinate.protocol import Outcome, settle
from coordinate.refusals import no_region
from coordinate.report import note, nowhere
from coordinate.survey import survey


@dataclass(frozen=True)
class Result:
    """A run that has finished: the record that stands, and each counter's outcome."""

    record: Record
    outcomes: dict[str, Outcome]


class OutOfTime(Refused):
    """The run has stopped at its time limit. The next one continues."""


def run(
    deployment: Deployment | None, token: str, now: Callable[[], int], may_start: Callable[[], bool] = lambda: True
) -> Generator[Sequence[Operation], Sequence[Any], Result | None]:
    """Carry out a deployment, or what was accepted before.

    Returns:
        The result, or None if nothing is deployed.

    Raises:
        Refused: the deployment is refused, or a counter, or time ran out.
    """
    record = yield from accept(deployment, now())
    if record is None:
        return None
    looked = yield from survey(record, now())
    outcomes = dict(looked.settled)
    refused: list[Refused] = []
    for counter in looked.unsettled:
        if not may_start():
            raise OutOfTime(f"{len(outcomes)} counters are done")
        try:
            outcomes[counter] = yield from settle(counter, token, now())
        except Refused as refusal:
            refused.append(refusal)
    if refused:
        raise refused[0]
    unmintable = nowhere(outcomes.values())
    if unmintable is not None:
        if deployment is not None:
            raise no_region(unmintable.counter, unmintable.regions)
        return Result((yield from finish(record, None, looked.mirror)), outcomes)
    return Result((yield from finish(record, note(outcomes, record), looked.mirror)), outcomes)
