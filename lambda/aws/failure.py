"""How a call to a service can end without the answer that was asked for."""

from collections.abc import Mapping
from typing import Any

THROTTLED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Refused for now, and not carried out (DynamoDB guide, "Error handling"; Lambda reference, "Invoke")."""


class NoAnswer(Exception):
    """No answer that can be relied on: whether the call was carried out is not known."""


class Unsent(NoAnswer):
    """No connection came about, or no time was left: the call was not carried out."""


class ServiceError(Exception):
    """The service answered, and refuses or fails. `item`: what a failed condition met, if it was asked for."""

    def __init__(self, status: int, code: str, message: str, item: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code or 'error'} ({status}): {message}")
        self.status = status
        self.code = code
        self.message = message
        self.item = item

    @property
    def throttled(self) -> bool:
        return self.status == 429 or self.code in THROTTLED

    @property
    def transient(self) -> bool:
        """Whether the error is transient."""
        return self.throttled or self.status >= 500
