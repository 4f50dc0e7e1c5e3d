"""The records of a zone, and the answer that Route 53 would give by them. No I/O."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .places import latency


@dataclass(frozen=True)
class Record:
    """An alias of one of API Gateway's names."""

    host: str
    target: str
    """API Gateway's own name, which leads to the API of one region."""
    region: str = ""
    """Of a latency record. Empty: a simple record, the only one of its name."""
    check: str = ""
    """The id of its health check, if it has one."""


@dataclass(frozen=True)
class Check:
    """A health check: who is asked for what, and how many results in a row change its status."""

    id: str
    host: str
    path: str
    threshold: int


def answer(records: Sequence[Record], host: str, start: str, healthy: Callable[[str], bool]) -> Record | None:
    """Return the record that a resolver in the region `start` gets for a host name, or None if there is none.

    It is the healthy record with the least latency. If none is healthy, all count as healthy (Route 53 guide,
    "How Amazon Route 53 chooses records when health checking is configured").
    """
    found = [record for record in records if record.host == host]
    well = [record for record in found if not record.check or healthy(record.check)]
    return min(well or found, key=lambda record: (latency(start, record.region), record.region), default=None)
