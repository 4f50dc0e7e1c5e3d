"""The part of a client that is the same for threads and for asyncio tasks. No I/O.

`Integers` and `AsyncIntegers` add all that waits: for responses, for locks, and between two rounds of attempts.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .address import Address
from .answers import Failure
from .attempts import Steps, attempts
from .calls import Call
from .errors import FailedEverywhere
from .events import Event, FailedOver
from .exchange import Exchange
from .health import Health
from .names import checked_counter
from .options import Options
from .regions import Regions

C = TypeVar("C")
T = TypeVar("T")
log = logging.getLogger("global_integers")


class Client(Generic[C]):
    """A client whose counters are `C`s."""

    options: Options
    regions: Regions

    def set_up(self, options: Options, make_counter: Callable[[str], C]) -> None:
        """Prepare. No region is asked.

        Args:
            options: the client's settings.
            make_counter: returns the counter of a name.

        Raises:
            CannotSign: see `signatures`.
        """
        self.options = options
        self._address = options.urls if isinstance(options.urls, Address) else None
        self.regions = Regions(options.urls, options.prefer)
        self._exchange = Exchange(options)
        self._make_counter = make_counter
        self._counters: dict[str, C] = {}
        self._default_name: str | None = options.counter or None

    def __getitem__(self, counter: str) -> C:
        """Return a counter. It is always the same object, so its lease is shared.

        Raises:
            ValueError: no counter can have this name.
        """
        found = self._counters.get(counter)
        if found is None:
            checked_counter(counter)
            found = self._counters.setdefault(counter, self._make_counter(counter))
        return found

    def tell(self, event: Event) -> None:
        """Tell the observer."""
        self._exchange.tell(event)

    def _steps(
        self,
        call: Call[T],
        deadline: float,
        order: Sequence[str] | None,
        each: float | None,
        nowhere: type[FailedEverywhere],
    ) -> Steps[T]:
        """Return the steps of a call. The arguments are those of `Integers.call`."""
        seconds, each = max(deadline - time.monotonic(), 0), each or self.options.attempt_timeout
        ordered = (lambda: order) if order is not None else self.regions.order
        steps = attempts(call, self.regions, ordered, seconds, each, self._failed_over, nowhere)
        return steps if self._address is None else self._address.watched(steps)

    def _reading(self, deadline: float) -> Steps[Any] | None:
        """Return how to read which regions are behind the address, if that must be known first."""
        if self._address is None or not self._address.must_be_read:
            return None
        return self._address.reading(self.regions, self.options, max(deadline - time.monotonic(), 0))

    def _reading_again(self) -> Steps[Any] | None:
        """Return how to read them again in the background, if it is time."""
        if self._address is None or not self._address.may_have_changed():
            return None
        return self._address.reading(self.regions, self.options, self.options.timeout)

    def _failed_over(self, failed: str, following: str, reason: str) -> None:
        level = logging.DEBUG if self.regions.failed_often(failed) else logging.WARNING
        log.log(level, "%s failed (%s); asking %s", failed, reason, following)
        self.tell(FailedOver(failed, following, reason))

    def _to_check(self) -> list[str]:
        """Return the regions whose health must be checked now. These are none if the client has only one region."""
        return self.regions.to_check() if len(self.options.urls) > 1 else []

    def _checked(self, region: str, answer: object | Failure, began: float) -> Health:
        """Note a health check's answer, and return what it says."""
        health = Health.of(answer, time.monotonic() - began)
        self.regions.checked(region, health.seconds, ok=health.ok)
        return health
