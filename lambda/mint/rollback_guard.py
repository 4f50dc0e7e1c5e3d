"""What a warm function has seen issued, so that it notices a table that was restored to an earlier state.

Such a table would mint the same integers again. Each answer of the table is compared with what was seen before the
call began, not with what is seen now: answers to several threads may arrive in another order than the table gave
them. In Lambda, one instance answers one request at a time.

A cold function has seen nothing and notices nothing. The coordinator does, by the table's identity, and begins an
epoch above all that may have been minted. From then on, a function mints again.
"""

from typing import NamedTuple

from .model import WentBackwards

MAX_COUNTERS = 10_000
"""The largest number of counters that a function remembers, in about 4 MB. Beyond it, the oldest is forgotten."""


class HighestSeen(NamedTuple):
    """The last integer seen issued in the newest epoch seen."""

    epoch: int
    issued: int


UNSEEN = HighestSeen(0, 0)


class RollbackGuard:
    """What one function has seen of one table."""

    def __init__(self) -> None:
        self._last: dict[str, HighestSeen] = {}
        self._void: dict[str, int] = {}
        self.findings = 0
        """How often the table was found to have gone backwards."""

    def last(self, counter: str) -> HighestSeen:
        """Return what was seen last of a counter, or `UNSEEN`."""
        return self._last.get(counter, UNSEEN)

    def refused(self, counter: str) -> bool:
        """Return whether the table went backwards, and no newer epoch has been seen since."""
        return self.last(counter).epoch <= self._void.get(counter, -1)

    def add(self, counter: str, last: HighestSeen, before: HighestSeen, after: HighestSeen) -> None:
        """Remember an answer of the table.

        Args:
            counter: the counter.
            last: what had been seen last when the call began.
            before: what the item had before the call.
            after: what it has now; the same as `before`, unless the call has minted.

        Raises:
            WentBackwards: the item had less than what was seen, or it is still of an epoch in which it had.
        """
        if before < last:
            self._find(counter, last, before)
        if after.epoch <= self._void.get(counter, -1):
            raise WentBackwards
        if after > self.last(counter):
            self._last[counter] = after
            if len(self._last) + len(self._void) > MAX_COUNTERS:
                del self._last[next(iter(self._last))]

    def _find(self, counter: str, last: HighestSeen, found: HighestSeen) -> None:
        """Refuse the counter up to the epoch that was seen. One finding is logged once."""
        if last.epoch <= self._void.get(counter, -1):
            return
        self.findings += 1
        self._void[counter] = last.epoch
        self._last.pop(counter, None)
        import logging  # rarely needed

        logging.getLogger(__name__).error(
            "this region's table went backwards: %s had issued %d in epoch %d, and now %d in epoch %d. It was restored "
            "or overwritten. Nothing of this counter is minted here until the coordinator has begun an epoch after %d.",
            counter,
            last.issued,
            last.epoch,
            found.issued,
            found.epoch,
            last.epoch,
        )
