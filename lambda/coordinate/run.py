"""Many counters at once: every counter's steps in turn, all counters' calls side by side."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from .model import Refused, Register
from .operations import Operation

CALLS = 64
"""DynamoDB calls under way at once."""

COUNTERS = 48
"""Counters under way at once."""

Settling = Generator[Sequence[Operation], Sequence[Any], Register]


def settle_all(
    settlings: Iterable[Settling], carry_out: Callable[[Operation], Any], may_start: Callable[[], bool]
) -> tuple[list[Register], list[Refused], bool]:
    """Carry out all settlings; one counter that is refused does not keep the others.

    `may_start` is asked before each further counter is begun; what was begun is finished.

    Returns the registers that stand, the refusals, and whether every settling was begun.
    """
    stand: list[Register] = []
    refused: list[Refused] = []
    waiting = iter(settlings)
    all_begun = False
    under_way: dict[Settling, list[Future[Any]]] = {}

    with ThreadPoolExecutor(CALLS) as pool:

        def advance(settling: Settling, calls: list[Future[Any]]) -> None:
            """Hand the answers over and submit what is asked for next."""
            try:
                operations = settling.send([call.result() for call in calls] if calls else None)  # pyright: ignore[reportArgumentType]
                while not operations:
                    operations = settling.send([])
                under_way[settling] = [pool.submit(carry_out, operation) for operation in operations]
            except StopIteration as stop:
                stand.append(stop.value)
            except Refused as refusal:
                refused.append(refusal)
                settling.close()

        while True:
            while not all_begun and len(under_way) < COUNTERS and may_start():
                settling = next(waiting, None)
                if settling is None:
                    all_begun = True
                else:
                    advance(settling, [])
            if not under_way:
                return stand, refused, all_begun
            wait(
                [call for calls in under_way.values() for call in calls if not call.done()], return_when=FIRST_COMPLETED
            )
            for settling, calls in list(under_way.items()):
                if all(call.done() for call in calls):
                    del under_way[settling]
                    advance(settling, calls)
