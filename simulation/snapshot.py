"""Where a suspended generator stands, as a value that can be compared and hashed.

`interleavings.py` visits every state that coordinators can reach together. Many histories lead to the same
state, and it must be visited only once. A coordinator is a suspended generator (`settle`), which Python can
neither copy nor compare. All answers that it has got so far would identify it exactly. But different answers
often lead to the same position, so the search would be hundreds of times larger. This module instead reads
from the generator's frame what decides how it goes on.

Two runs that are suspended at the same instruction, with the same values in all variables that they may still
read (live.py), in every generator of the chain of `yield from`, go on alike: they yield the same and, sent the
same, return the same. For any generator that is true if

- it reads nothing but its local variables, constants and what it is sent. `settle` and what it delegates to
  do no I/O and read no global that changes;
- `repr` shows all of a local variable. Here they are numbers, strings, and frozen dataclasses, tuples, lists,
  sets and dictionaries of such. (An object whose `repr` has its address, or a set whose order differs, only makes
  more states, never fewer.)
- the frame's value stack holds nothing else that differs. It holds what an expression has read before its `yield`
  (here always on the same line; live.py takes all variables of that line for live), and the iterator of a `for`
  loop that is suspended within its body: of `range(ROUNDS)` and `range(ATTEMPTS)`. The loop's variable tells the
  iterator's position, because no number comes twice. live.py takes it, and what is iterated over, for live until
  the loop is left.

tests/simulation/test_snapshot.py holds `settle` to that: it compares how runs with equal snapshots and
different histories go on.
"""

from collections.abc import Generator
from typing import Any

from .live import live

Snapshot = tuple[tuple[int, tuple[tuple[str, str], ...]], ...]
"""For each generator of the chain: the instruction, and the names and values of its live variables."""


def snapshot(generator: Generator[Any, Any, Any]) -> Snapshot:
    """Return where a suspended generator stands, and what it delegates to by `yield from`.

    Raises:
        ValueError: it has ended.
    """
    frames: list[tuple[int, tuple[tuple[str, str], ...]]] = []
    suspended: Any = generator
    while suspended is not None:
        frame = suspended.gi_frame
        if frame is None:
            raise ValueError(f"{suspended} has ended")
        needed = live(frame.f_code, frame.f_lasti)
        variables = sorted((name, repr(value)) for name, value in frame.f_locals.items() if name in needed)
        frames.append((frame.f_lasti, tuple(variables)))
        suspended = suspended.gi_yieldfrom
    return tuple(frames)
