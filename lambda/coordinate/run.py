"""Settles many counters at once: each counter's steps in turn, the calls of all counters side by side."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .model import Refused, Register
from .operations import Operation

CALLS = 64
"""DynamoDB calls in flight at once."""

COUNTERS = 48
"""Counters in progress at once."""

Settling = Generator[Sequence[Operation], Sequence[Any], Register]


def settle_all(
    settlings: Iterable[Settling], carry_out: Callable[[Operation], Any], may_start: Callable[[], bool]
) -> tuple[list[Register], list[Refused], bool]:
    """Carry out all settlings. A counter that is refused does not stop the others.

    Args:
        settlings: one generator per counter (`protocol.settle`).
        carry_out: carries out one operation; called from several threads.
        may_start: asked before each counter is begun; a counter that was begun is finished.

    Returns:
        The registers that stand, the refusals, and whether every settling was begun.
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
