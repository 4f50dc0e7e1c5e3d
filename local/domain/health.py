"""Health checks: a thread asks every region again and again whether it is healthy."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from .records import HealthCheck

INTERVAL = 2.0
"""Seconds between two requests of a check: shorter than the 10 s that are registered, so that nobody waits long."""

TIMEOUT = 6.0
"""Seconds that a response may take (Route 53 guide, "How Amazon Route 53 determines whether a health check is
healthy": 4 s to connect, 2 s to respond)."""


class HealthChecker:
    """The status of every check. A new one is healthy until it has failed."""

    def __init__(self, ask: Callable[[HealthCheck], bool]) -> None:
        """Begin with no check.

        Args:
            ask: sends one request of a check, and returns whether the response says that the region is healthy.
        """
        self._ask = ask
        self._unhealthy: set[str] = set()
        self._against: dict[str, int] = {}
        """Check → how many results in a row spoke against its status."""

    def healthy(self, check: str) -> bool:
        """Return a check's status, by its id."""
        return check not in self._unhealthy

    def run(self, checks: Callable[[], Sequence[HealthCheck]], stop: Event) -> None:
        """Ask all checks at the same time, every `INTERVAL` seconds, until `stop` is set."""
        with ThreadPoolExecutor(32) as pool:
            while not stop.wait(INTERVAL):
                present = checks()
                for check, healthy in zip(present, pool.map(self._ask, present), strict=True):
                    self.count(check, healthy=healthy)

    def count(self, check: HealthCheck, *, healthy: bool) -> None:
        """Count one result. As many in a row as the threshold says change the status."""
        if healthy == self.healthy(check.id):
            self._against[check.id] = 0
            return
        self._against[check.id] = self._against.get(check.id, 0) + 1
        if self._against[check.id] >= check.threshold:
            self._against[check.id] = 0
            (self._unhealthy.discard if healthy else self._unhealthy.add)(check.id)
