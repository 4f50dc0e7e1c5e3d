"""The type of a run's steps, and the reads that all of them share."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from .model import Register
from .operations import DescribeTable, Operation, ReadItem
from .plan import Ids, Items

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Each:
    """Steps to be taken at the same time, in any order. Answer: what each returns, or the `Refused` that it raises.

    A part has no `Each` of its own: all of `threads.py`'s threads could wait for each other.
    """

    steps: Iterable["Steps[Any]"]


Steps = Generator[Sequence[Operation] | Each, Sequence[Any], T]
"""Yields a batch of operations or an `Each`, is sent the answers in the same order, and returns a T. The operations of
a batch may be carried out in any order, or at the same time."""


class Known(NamedTuple):
    """What was found of a counter when its register was this one. Another register would need another look."""

    register: Register
    items: Items
    ids: Ids
    """The ids of the tables, described after the items were read or written."""


class Next(NamedTuple):
    """A register that is to be written, and what is known of the counter once it is."""

    register: Register
    known: Known | None


def one(operation: Operation) -> Steps[Any]:
    """Return the answer of one operation."""
    return (yield [operation])[0]


def look(regions: Iterable[str], counter: str) -> Steps[tuple[Items, Ids]]:
    """Return every region's item, and the id of its table, described after the item was read."""
    names = tuple(dict.fromkeys(regions))
    items = yield [ReadItem(region, counter) for region in names]
    ids = yield [DescribeTable(region) for region in names]
    return dict(zip(names, items, strict=True)), dict(zip(names, ids, strict=True))
