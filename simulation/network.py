"""A network on which answers are lost, and writes arrive late or twice."""

from random import Random
from typing import Any

from coordinate.model import Absent
from coordinate.operations import Operation

from .checked import CheckedWorld, reads

LATENESS = 60
"""For how many steps a write may be under way. A signature is valid for minutes (IAM guide, "Signature Version 4")."""

HOME = "home"


class Network:
    """Carries operations to a world. `rate` is the share of writes that something happens to."""

    def __init__(self, world: CheckedWorld, random: Random, rate: float) -> None:
        self._world = world
        self._random = random
        self.rate = rate
        self._late: list[tuple[int, Operation]] = []

    def carry_out(self, operation: Operation) -> Any:
        """Carry out an operation, and return its answer. It may be lost: the caller can't tell what has happened."""
        if reads(operation) or self._random.random() >= self.rate:
            return self._world.carry_out(operation)
        region = getattr(operation, "region", None)
        kind = self._random.randrange(3)
        if kind < 2:
            self._late.append((self._world.clock, operation))
        if kind > 0:
            answer = self._world.carry_out(operation)
            if kind == 1:
                return answer  # and once more, later
        return False if region is None else Absent.AWAY  # at home, the run reads again what has become of it

    def deliver(self) -> None:
        """Let some late write arrive, if it isn't too late."""
        if self._late:
            sent, operation = self._late.pop(self._random.randrange(len(self._late)))
            if self._world.clock - sent <= LATENESS:
                self._world.carry_out(operation)

    def forget(self, region: str) -> None:
        """Drop what is under way to a region's table, which is being deleted.

        Deleting a table and making another one takes longer than a write is under way.
        """
        self._late = [(sent, late) for sent, late in self._late if getattr(late, "region", None) != region]

    @property
    def empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._late
