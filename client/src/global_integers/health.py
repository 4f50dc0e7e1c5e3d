"""The result of a region's health check."""

from typing import NamedTuple

from .answers import Failure, Kind

INTERRUPTED = Failure(Kind.SILENT, "the health check was interrupted")
"""The answer to a health check that has none yet."""


class Health(NamedTuple):
    """Whether a region can mint from its default counter now.

    `seconds` is how long the check took, None if there was no response. `reason` says why `ok` is false.
    """

    ok: bool
    seconds: float | None
    reason: str = ""

    @classmethod
    def of(cls, answer: object, seconds: float) -> "Health":
        """Return the health that follows from an answer to `calls.health`."""
        if isinstance(answer, Failure):
            return cls(False, None if answer.kind is Kind.SILENT else seconds, answer.reason)
        return cls(True, seconds)
