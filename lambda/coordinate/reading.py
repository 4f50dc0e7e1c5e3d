"""The type of the protocol's steps, and the reads that all of them share."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeVar

from .operations import DescribeTable, Operation, ReadItem
from .plan import Ids, Items

T = TypeVar("T")
Steps = Generator[Sequence[Operation], Sequence[Any], T]
"""Yields batches of operations, is sent their answers, and returns a T."""


def one(operation: Operation) -> Steps[Any]:
    """Return the answer of one operation."""
    return (yield [operation])[0]


def look(regions: Iterable[str], counter: str) -> Steps[tuple[Items, Ids]]:
    """Return every region's item, and then the id of its table."""
    names = tuple(dict.fromkeys(regions))
    items = yield [ReadItem(region, counter) for region in names]
    ids = yield [DescribeTable(region) for region in names]
    return dict(zip(names, items, strict=True)), dict(zip(names, ids, strict=True))
