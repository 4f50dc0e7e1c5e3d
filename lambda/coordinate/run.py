"""Carries out the protocol's steps: the steps of one counter in turn, the calls of all counters at the same time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .model import Refused
from .operations import Operation
from .protocol import Outcome
from .reading import Steps

CALLS = 64
"""How many DynamoDB calls run at the same time."""

COUNTERS = 48
"""How many counters are in progress at the same time."""

CarryOut = Callable[[Operation], Any]
T = TypeVar("T")


def drive(steps: Steps[T], carry_out: CarryOut) -> T:
    """Carry out one generator's steps, the operations of a batch at the same time. Return what it returns.

    Raises:
        Refused: the steps refuse, or `carry_out` does.
    """
    with ThreadPoolExecutor(CALLS) as calls:
        return _drive(steps, carry_out, calls)


def settle_all(
    settlings: Iterable[Steps[Outcome]],
    carry_out: CarryOut,
    may_start: Callable[[], bool],
) -> tuple[list[Outcome], list[Refused], bool]:
    """Settle all counters. A counter that is refused does not stop the others.

    Args:
        settlings: one generator per counter (`protocol.settle`).
        carry_out: carries out one operation; called from several threads.
        may_start: asked before each counter is begun; a counter that was begun is finished.

    Returns:
        The outcomes and the refusals, both in the order of `settlings`, and whether every settling was begun.
    """
    with ThreadPoolExecutor(CALLS) as calls, ThreadPoolExecutor(COUNTERS) as counters:

        def settle(settling: Steps[Outcome]) -> Outcome | Refused | None:
            if not may_start():
                settling.close()
                return None
            try:
                return _drive(settling, carry_out, calls)
            except Refused as refusal:
                return refusal

        results = list(counters.map(settle, settlings))
    outcomes = [result for result in results if isinstance(result, Outcome)]
    refusals = [result for result in results if isinstance(result, Refused)]
    return outcomes, refusals, None not in results


def _drive(steps: Steps[T], carry_out: CarryOut, calls: ThreadPoolExecutor) -> T:
    try:
        operations = next(steps)
        while True:
            operations = steps.send(list(calls.map(carry_out, operations)))
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()
