"""The ways in which a call to a service fails."""

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
"""Codes of throttled calls, which were not carried out (DynamoDB guide, "Error handling"; Lambda API, "Invoke")."""


UNACCEPTED = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "UnrecognizedClientException",
    }
)
"""Codes of calls whose signer wasn't accepted, and which were not carried out (DynamoDB guide, "Error handling";
DynamoDB and Lambda API references, "Common errors"). A role is accepted some seconds after it was created (IAM guide,
"Troubleshoot IAM: changes that I make are not always immediately visible"), and a signature is accepted for some
minutes only: a function may be frozen between signing and sending.
"""


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
    def throttled(self) -> bool:
        """Whether the call was throttled, and so not carried out."""
        return self.status == 429 or self.code in THROTTLED

    @property
    def unaccepted(self) -> bool:
        """Whether the role or the signature was not accepted. Signed anew, the call may be."""
        return self.code in UNACCEPTED

    @property
    def transient(self) -> bool:
        """Whether the error is transient. The call may have been carried out unless it was throttled."""
        return self.throttled or self.status >= 500
