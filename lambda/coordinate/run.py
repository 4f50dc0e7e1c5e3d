"""Settles many counters at once: the steps of one counter in turn, the calls of all counters at the same time."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .model import Refused, Register
from .operations import Operation

CALLS = 64
"""How many DynamoDB calls run at the same time."""

COUNTERS = 48
"""How many counters are in progress at the same time."""

Settling = Generator[Sequence[Operation], Sequence[Any], Register]


def settle_all(
    settlings: Iterable[Settling], carry_out: Callable[[Operation], Any], may_start: Callable[[], bool]
) -> tuple[list[Register], list[Refused], bool]:
    """Settle all counters. A counter that is refused does not stop the others.

    Args:
        settlings: one generator per counter (`protocol.settle`).
        carry_out: carries out one operation; called from several threads.
        may_start: asked before each counter is begun; a counter that was begun is finished.

    Returns:
        The registers that were settled and the refusals, both in the order of `settlings`, and whether every
        settling was begun.
    """
    with ThreadPoolExecutor(CALLS) as calls, ThreadPoolExecutor(COUNTERS) as counters:

        def settle(settling: Settling) -> Register | Refused | None:
            if not may_start():
                return None
            try:
                operations = next(settling)
                while True:
                    operations = settling.send(list(calls.map(carry_out, operations)))
            except StopIteration as settled:
                return settled.value
            except Refused as refusal:
                return refusal
            finally:
                settling.close()

        results = list(counters.map(settle, settlings))
    registers = [result for result in results if isinstance(result, Register)]
    refusals = [result for result in results if isinstance(result, Refused)]
    return registers, refusals, None not in results
