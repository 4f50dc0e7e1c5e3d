"""Drives a run with threads: the steps of one counter in turn, the calls of all counters at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .protocol.model import Refused
from .protocol.operations import Each, Operation, Steps

CALLS = 256
"""How many DynamoDB calls of batches run at the same time. At 150 ms a call, fewer wouldn't fill one processor."""

COUNTERS = 48
"""How many counters are in progress at the same time."""

CarryOut = Callable[[Operation], Any]
T = TypeVar("T")


def drive(steps: Steps[T], carry_out: CarryOut) -> T:
    """Take all steps, and return what they return. `carry_out` is called from several threads."""
    with ThreadPoolExecutor(CALLS) as calls, ThreadPoolExecutor(COUNTERS) as counters:

        def take(steps: Steps[Any]) -> Any:
            try:
                batch = next(steps)
                while True:
                    batch = steps.send(answers(batch))
            except StopIteration as stop:
                return stop.value
            finally:
                steps.close()

        def answers(batch: Sequence[Operation] | Each) -> Sequence[Any]:
            if isinstance(batch, Each):
                return list(counters.map(take_part, batch.steps))
            if len(batch) == 1:
                return [carry_out(batch[0])]
            return list(calls.map(carry_out, batch))

        def take_part(steps: Steps[Any]) -> Any:
            try:
                return take(steps)
            except Refused as refusal:
                return refusal

        return take(steps)
