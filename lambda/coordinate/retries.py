"""Which errors of DynamoDB mean that a condition failed, which are retried, and which that a region is away."""

import random
import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .model import Absent, Refused

RETRY_SECONDS = 60
"""Seconds for which errors of the home region are retried. AWS needs some time to make a new role known."""

REGION_SECONDS = 15
"""Seconds for which errors of another region are retried. The schedule comes back to it."""

LOST_RACE = frozenset({"ConditionalCheckFailedException", "TransactionConflictException"})
"""Another write was faster, so the protocol reads again (DynamoDB guide, "Transaction conflict handling")."""

TRANSIENT = frozenset({"TransactionConflictException", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Transient errors of a call, or of a part of a transaction, that botocore doesn't retry."""

DENIED = frozenset({"AccessDeniedException"})
"""The role isn't known yet, or a policy denies the region."""

AWAY = frozenset(
    {
        "InternalServerError",
        "InvalidClientTokenId",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingException",
        "UnrecognizedClientException",
    }
)
"""Errors that stay after botocore's retries. A region that is not enabled answers that the client is unknown."""

GONE = "ResourceNotFoundException"


def held(write: Callable[[], object]) -> bool:
    """Carry out a conditional write, and return whether its condition held.

    Raises:
        ClientError: any other error.
    """
    try:
        write()
    except ClientError as error:
        if _codes(error) & {*LOST_RACE, "ConditionalCheckFailed", "TransactionConflict"}:
            return False
        raise
    return True


def retried(home: str, call: Callable[[], Any]) -> Any:
    """Return what a call to the home region returns. Transient errors are retried.

    Raises:
        Refused: the region can't be reached, or DynamoDB refused the call.
    """
    try:
        return _patiently(call, RETRY_SECONDS)
    except (ClientError, BotoCoreError) as error:
        if isinstance(error, ClientError) and GONE in _codes(error):
            raise Refused(
                f"{home}: the layouts table or its mirror does not exist: {error}. `pulumi up --refresh` "
                "recreates it (on one machine: `make up`), and the coordinator puts back what was in it."
            ) from error
        raise Refused(
            f"{home}: the home region's tables can't be used: {error}. Deploy again when that is solved: "
            "the next run continues where this one stopped."
        ) from error


class Regions:
    """The regions of one run. One that is away isn't asked again: every call would take long to fail."""

    def __init__(self) -> None:
        self.away: set[str] = set()

    def retried(self, region: str, call: Callable[[], Any]) -> Any:
        """Return what a call to a region returns, or `Absent`. Transient errors are retried.

        Raises:
            Refused: DynamoDB refused the call for another reason.
        """
        if region in self.away:
            return Absent.AWAY
        try:
            return _patiently(call, REGION_SECONDS)
        except ClientError as error:
            codes = _codes(error)
            if GONE in codes:
                return Absent.GONE
            if not codes & (AWAY | DENIED | TRANSIENT):
                raise Refused(f"{region}: DynamoDB refused a call: {error}.") from error
        except BotoCoreError:
            pass
        self.away.add(region)
        return Absent.AWAY


def _patiently(call: Callable[[], Any], seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except ClientError as error:
            codes = _codes(error)
            pause = 2.0 if codes & DENIED else random.uniform(0, 0.2) if codes & TRANSIENT else None  # noqa: S311
            if pause is None or time.monotonic() > deadline:
                raise
            time.sleep(pause)


def _codes(error: ClientError) -> set[str | None]:
    reasons = error.response.get("CancellationReasons", [])
    return {error.response.get("Error", {}).get("Code"), *(reason.get("Code") for reason in reasons)}
