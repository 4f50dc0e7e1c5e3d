"""Chance, quickly."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice(Random):
    """Chooses by one float. `Random` draws bits until they fit, which takes a tenth of a schedule's time."""

    def choice(self, seq: Sequence[T]) -> T:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return one of them."""
        return seq[int(self.random() * len(seq))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Return a number of the range."""
        return self.choice(range(start) if stop is None else range(start, stop, step))
