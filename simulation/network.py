"""A network on which answers are lost, calls are throttled, and writes arrive late or twice."""

from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Refused

from .checks import CheckedWorld, reads
from .world import ALIVE

LATENESS = 60
"""Seconds for which a write may be under way. A signature is valid for minutes (IAM guide, "Signature Version 4")."""


class Network:
    """Carries operations to a world.

    `rates` has `lost`, the share of writes whose answer is lost, or that are late; `throttled`, of calls to a region;
    `home fails`, of calls at home; and `out of time`, of counters that may not be begun any more.
    """

    def __init__(self, world: CheckedWorld, random: Random, rates: dict[str, float]) -> None:
        self._world = world
        self._random = random
        self._rates = rates
        self.late: list[tuple[int, op.Operation]] = []
        """Writes that are under way, and since when."""
        self._given_up: set[tuple[object, str]] = set()
        self._issued: dict[tuple[str, str], int | None] = {}
        self.hot: tuple[str, str] | None = None
        """The region and the counter of an item that is throttled whenever it is asked for."""

    def carry_out(self, operation: op.Operation, run: object = None) -> Any:
        """Carry out an operation of a run. Its answer may be lost: then the run can't tell what has happened."""
        random, rates = self._random, self._rates
        match operation:
            case op.Clock() | op.TakeRunLock():
                return self._world.carry_out(operation)
            case op.MayBegin():
                return random.random() >= rates["out of time"]
            case _:
                region: str | None = getattr(operation, "region", None)
        if region is None and random.random() < rates["home fails"]:
            raise Refused("home: the home region's tables can't be used")
        if region is not None and self._is_throttled(region, operation, run):
            return Absent.UNREACHABLE
        if reads(operation) or random.random() >= rates["lost"]:
            return self._answer(operation)
        kind = random.randrange(3)
        if kind < 2:
            self.late.append((self._world.now, operation))
        if kind > 0:
            answer = self._answer(operation)
            if kind == 1:
                return answer  # and once more, later
        return False if region is None else Absent.UNREACHABLE  # at home, the run reads again what has become of it

    def _is_throttled(self, region: str, operation: op.Operation, run: object) -> bool:
        if (run, region) in self._given_up:
            return True
        hot = self.hot == (region, getattr(operation, "counter", None))
        throttled = hot or self._random.random() < self._rates["throttled"]
        if throttled and self._world.without == "throttled: only that item":
            self._given_up.add((run, region))
        return throttled

    def _answer(self, operation: op.Operation) -> Any:
        """Return the world's answer; where a rule of `ALIVE` is taken out, what the program got before it had it."""
        world, without = self._world, self._world.without
        answer = None if without not in ALIVE else self._former_answer(operation, without)
        return world.carry_out(operation) if answer is None else answer

    def _former_answer(self, operation: op.Operation, without: str) -> Any:
        world = self._world
        stray = world.stray and without == "stray: stops nobody"
        match operation:
            case op.ScanItems(region) if without == "unreachable: stops nobody" and region in world.unreachable:
                raise Refused(f"{region}: DynamoDB refused a call")
            case op.ScanRegisters() | op.ScanCopies() | op.ScanItems() if stray:
                raise Refused("'issued'")
            case op.WriteRecordCopy() if without == "mirror: has the first record" and world.layouts.record is None:
                return True
            case op.ReadItem(region, counter) | op.PutItem(region, counter):
                self._issued[region, counter] = world.issued(region, counter)
            case op.ScanItems(region):
                for counter in world.tables[region].counters if region in world.tables else ():
                    self._issued[region, counter] = world.issued(region, counter)
            case op.FenceItem(region, counter) if without == "fence: relative":
                # It was set to what the item had issued when it was read, plus headroom: here, none at all.
                return None if self._issued.get((region, counter)) == world.issued(region, counter) else False
            case _:
                pass
        return None

    def deliver(self) -> None:
        """Let some late write arrive, unless it is too late."""
        if self.late:
            sent, operation = self.late.pop(self._random.randrange(len(self.late)))
            if self._world.now - sent <= LATENESS:
                self._world.carry_out(operation)

    def forget(self, region: str | None = None) -> None:
        """Drop what is under way to a region's table, which is being deleted; or all, since hours have passed."""
        remaining = [(sent, late) for sent, late in self.late if getattr(late, "region", None) != region]
        self.late = remaining if region is not None else []
