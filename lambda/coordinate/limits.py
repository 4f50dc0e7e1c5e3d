"""Computes the limit of an epoch: at its beginning, and when it must be raised."""

from collections.abc import Mapping
from dataclasses import replace

from integers.lattice import MAX_INTEGER

from .model import Record, Register


def beginning(
    counter: str, home: str, epoch: int, record: Record, base: int, now: int, ids: Mapping[str, str] | None = None
) -> Register:
    """Return the register of an epoch that begins."""
    regions, window = record.wish.regions, record.wish.window
    empty = Register(counter, home, epoch, regions, tuple((ids or {}).get(region) for region in regions), base, 0, 0, 0)
    return granted(empty, base - 1, window, now)


def granted(register: Register, top: int, window: int, now: int) -> Register:
    """Return the register with a limit that grants every region `window` integers above `top`."""
    limit = min(top + window * len(register.regions), MAX_INTEGER)
    return replace(register, limit=max(limit, register.limit), window=window, granted=now)


def raised(register: Register, record: Record, top: int, now: int) -> Register | None:
    """Return the register with a higher limit, if less than half of the last grant is left.

    The window grows to what lasts three runs of the schedule at the highest rate seen since a limit was set.
    """
    stride, wish = len(register.regions), record.wish
    left = register.limit - top
    if left >= register.window * stride // 2 or register.limit == MAX_INTEGER:
        return None
    used = register.window * stride - left
    seconds = max(now - register.granted, 1)
    lasting = -(-used * 3 * 60 * wish.watch_minutes // (seconds * stride))
    return granted(register, top, max(wish.window, register.window, lasting), now)
