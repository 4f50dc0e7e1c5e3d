"""A network on which answers are lost, calls are throttled, and writes arrive late or twice."""

from contextlib import suppress
from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Refused

from .checks import CheckedWorld
from .coordinator import Conflict
from .dynamodb import Table
from .world import kind_of

LATENESS = 60
"""Seconds for which a write may be under way. A signature is valid for minutes (IAM guide, "Signature Version 4")."""


class Network:
    """Carries operations to a world.

    `rates` has `lost`, the share of writes whose answer is lost, or that are late; `throttled`, of calls to a region;
    `home fails`, of calls at home; `conflict`, of transactions; `clock`, of runs whose clock is wrong by minutes; and
    `out of time`, of counters that may not be begun any more.
    """

    def __init__(self, world: CheckedWorld, random: Random, rates: dict[str, float]) -> None:
        self._world = world
        self._random = random
        self._rates = rates
        self.late: list[tuple[int, op.Operation, str, Table | None]] = []
        """Writes that are under way, since when, in which home region the run is, and to which region's table."""
        self._given_up: set[tuple[object, str]] = set()
        self._clocks: dict[object, int] = {}
        self.offset = 0
        """By how many seconds every clock is wrong: somebody has set it back."""
        self.hot: tuple[str, str] | None = None
        """The region and the counter of an item that is throttled whenever it is asked for."""

    def carry_out(self, operation: op.Operation, run: object = None) -> Any:
        """Carry out an operation of a run. Its answer may be lost: then the run can't tell what has happened."""
        random, rates = self._random, self._rates
        region: str | None = getattr(operation, "region", None)
        if isinstance(operation, op.Clock):
            return self._world.now + self._clocks.setdefault(run, self.wrong_by())
        if isinstance(operation, op.TakeRunLock):
            return self._world.carry_out(operation)
        if isinstance(operation, op.MayBegin):
            return random.random() >= rates["out of time"]
        if region is None and random.random() < rates["home fails"]:
            raise Refused("home: the home region's tables can't be used")
        if region is not None and self._is_throttled(region, operation, run):
            return Absent.UNREACHABLE
        if region is not None and self._is_denied(region, operation):
            self._given_up.add((run, region))  # no further call of this run is made there
            return Absent.UNREACHABLE
        if isinstance(operation, op.WriteRegister | op.WriteRecord) and random.random() < rates["conflict"]:
            raise Conflict
        if kind_of(operation) == "reads" or random.random() >= rates["lost"]:
            return self._world.carry_out(operation)
        kind = random.randrange(3)
        if kind < 2:
            self.late.append((self._world.now, operation, self._world.at, self._world.table(region or "")))
        if kind > 0:
            answer = self._world.carry_out(operation)
            if kind == 1:
                return answer  # and once more, later
        # Without an answer of the other tables at home, the run reads again what has become of them.
        return False if region is None else Absent.UNREACHABLE

    def wrong_by(self) -> int:
        """Return by how many seconds somebody's clock is wrong."""
        return self.offset + (self._random.randrange(-600, 601) if self._random.random() < self._rates["clock"] else 0)

    def _is_denied(self, region: str, operation: op.Operation) -> bool:
        """Return whether a region is unreachable since one of its tables may not be used."""
        return self._world.denied.get(region) == kind_of(operation)

    def _is_throttled(self, region: str, operation: op.Operation, run: object) -> bool:
        given_up, hot = (run, region) in self._given_up, self.hot == (region, getattr(operation, "counter", None))
        return given_up or hot or self._random.random() < self._rates["throttled"]

    def deliver(self) -> None:
        """Let some late write arrive, unless it is too late, or the region's table was deleted since."""
        if self.late:
            sent, operation, self._world.at, table = self.late.pop(self._random.randrange(len(self.late)))
            there = self._world.table(getattr(operation, "region", ""))
            if self._world.now - sent <= LATENESS and there is table:
                with suppress(Refused):
                    self._world.carry_out(operation)
