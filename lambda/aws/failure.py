"""The ways in which a call to a service fails."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .meaning import Meaning


class NoResponse(Exception):
    """There is no valid response. The call may have been carried out or not."""


class Unsent(NoResponse):
    """The call was not sent, since there was no connection or no time left. It was not carried out."""


class ServiceError(Exception):
    """The service refused the call or failed. `item` is the item that failed a condition, if it was requested."""

    def __init__(self, status: int, code: str, message: str, item: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code or 'error'} ({status}): {message}")
        self.status = status
        self.code = code
        self.message = message
        self.item = item

    @property
    def meaning(self) -> "Meaning":
        """What it means."""
        from .meaning import meaning  # rarely needed

        return meaning(self.status, self.code, self.message)

    @property
    def throttled(self) -> bool:
        """Whether the call was throttled, and so not carried out."""
        return self.meaning == "throttled"

    @property
    def unaccepted(self) -> bool:
        """Whether the role or the signature was not accepted. Signed anew, the call may be."""
        return self.meaning == "unaccepted"

    @property
    def transient(self) -> bool:
        """Whether the error is transient. The call may have been carried out unless it was throttled."""
        return self.meaning in ("conflict", "throttled", "unreachable")
