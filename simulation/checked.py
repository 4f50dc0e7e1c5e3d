"""A world that notices what must never happen."""

from dataclasses import dataclass, field
from typing import Any

from coordinate.operations import FenceItem, Operation

from .world import World


class Duplicate(AssertionError):
    """An integer was minted twice."""


@dataclass
class CheckedWorld(World):
    """A World that remembers every integer it has minted, and where."""

    minted: dict[int, str] = field(default_factory=dict[int, str])

    def mint(self, region: str) -> int | None:
        """Mint one integer.

        Raises:
            Duplicate: it was minted before.
        """
        integer = super().mint(region)
        if integer is not None:
            if integer in self.minted:
                raise Duplicate(f"{integer} was minted in {self.minted[integer]} and again in {region}")
            self.minted[integer] = region
        return integer

    def carry_out(self, operation: Operation) -> Any:
        """Carry out one operation.

        Raises:
            AssertionError: it fenced an epoch that nobody had decided to end. Once its headroom is minted,
                such a region can't mint any more.
            NoTable: a write to a region that has no table.
        """
        held = super().carry_out(operation)
        if held and isinstance(operation, FenceItem):
            register, item = self.register, self.tables[operation.region].item
            if register is None or register.next is None or (item is not None and register.epoch < item.epoch):
                raise AssertionError("an epoch was fenced that nobody had decided to end")
        return held
