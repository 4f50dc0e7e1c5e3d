"""Which errors of DynamoDB mean that a condition failed, which are retried, and which end a run."""

import random
import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .model import Refused

RETRY_SECONDS = 60
"""Seconds for which `AccessDenied` and transient errors are retried. AWS needs some time to make a new role known."""

LOST_RACE = frozenset({"ConditionalCheckFailedException", "TransactionConflictException"})
"""Another write was faster, so the protocol reads again (DynamoDB guide, "Transaction conflict handling")."""

TRANSIENT = frozenset({"TransactionConflictException", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Transient errors of a call, or of a part of a transaction, that botocore doesn't retry."""


def held(write: Callable[[], object]) -> bool:
    """Carry out a conditional write, and return whether its condition held.

    Raises:
        ClientError: any other error.
    """
    try:
        write()
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
        if code in LOST_RACE or reasons & {"ConditionalCheckFailed", "TransactionConflict"}:
            return False
        raise
    return True


def retried(region: str, call: Callable[[], Any]) -> Any:
    """Return what a call to a region returns. Transient errors are retried.

    Raises:
        Refused: the region can't be reached, or DynamoDB refused the call.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return call()
        except ClientError as error:
            codes = {error.response.get("Error", {}).get("Code")}
            codes |= {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
            pause = 2.0 if "AccessDeniedException" in codes else random.uniform(0, 0.2) if codes & TRANSIENT else None  # noqa: S311
            if pause is None or time.monotonic() > deadline:
                raise Refused(
                    f"{region}: DynamoDB refused a call: {error}. Deploy again when that is solved: "
                    "the next run continues where this one stopped."
                ) from error
            time.sleep(pause)
        except BotoCoreError as error:
            raise Refused(
                f"{region}: can't be reached: {error}. Every region must answer while the layout changes. "
                "Deploy again when it does: the next run continues where this one stopped."
            ) from error
