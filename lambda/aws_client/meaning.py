"""What it means that a call to DynamoDB or Lambda failed: one table for the coordinator and the minting function.

An error that isn't in the table is judged by its HTTP status:

- 5xx, with whatever body: *unreachable*. An outage answers with HTML or nothing, and with codes of many names (DynamoDB
  guide, "Error handling", "HTTP status code 5xx"; botocore, retries/standard.py; aws-sdk-js-v3 issue 4683).
- No code at all: *unreachable*. Something between answered, such as a proxy, and not the service.
- 429: *throttled*.
- Any other: *bug*. The request was wrong, and would be wrong again.

A call without a response (refused, reset, late, no TLS, no address, or nothing that the service would send) means
*unreachable*, too.
"""

from collections.abc import Iterable
from typing import Literal

Meaning = Literal["condition", "conflict", "gone", "unaccepted", "throttled", "unreachable", "bug"]
"""What to do:

- condition: nothing was written, because a condition failed. Read again.
- conflict: nothing was written, because a transaction writes the same item. Read again, or write again.
- gone: there is no such table or function.
- unaccepted: the signer or its permission isn't known, and nothing was carried out. It may be known some seconds later.
- throttled: this item or this operation gets too many calls, and this one was not carried out. Others get through.
- unreachable: the service doesn't work there now. The call may have been carried out.
- bug: the request is wrong. No retry helps, and nothing was carried out.
"""

MEANINGS: dict[Meaning, tuple[str, ...]] = {
    "condition": (
        "ConditionalCheckFailedException",  # DynamoDB guide, "Error handling"
        "ConditionalCheckFailed",  # a reason of a cancelled transaction (DynamoDB API, "TransactWriteItems")
    ),
    "conflict": (
        "TransactionConflictException",  # of a single write (DynamoDB guide, "Transaction conflict handling")
        "TransactionConflict",  # a reason of a cancelled transaction
        "ReplicatedWriteConflictException",  # DynamoDB guide, "Error handling"
        "TransactionInProgressException",
    ),
    "gone": (
        "ResourceNotFoundException",  # also a table that is being created (DynamoDB guide, "Error handling")
        "TableNotFoundException",
    ),
    "unaccepted": (
        # A role is accepted everywhere some seconds after it was created (IAM guide, "Troubleshoot IAM: changes that I
        # make are not always immediately visible"), and a signature for some minutes only: a function may be frozen
        # between signing and sending.
        "AccessDeniedException",  # also by a policy of the organization, or of the table's key
        "ExpiredTokenException",  # Lambda API, "Common errors"; the names that only DynamoDB's guide has are below
        "IncompleteSignature",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "RequestExpired",
        "UnrecognizedClientException",  # also from a region that isn't enabled
        "IncompleteSignatureException",  # DynamoDB guide, "Error handling"
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "AccessDenied",  # the same by the names of other services and of proxies before them
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "SubscriptionRequiredException",  # from an account that isn't activated there yet
    ),
    "throttled": (
        "LimitExceededException",  # DynamoDB guide, "Error handling"
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ProvisionedThroughputExceeded",  # reasons of a cancelled transaction (DynamoDB API, "TransactWriteItems")
        "ThrottlingError",
        "TooManyRequestsException",  # Lambda API, "Invoke"
        "BandwidthLimitExceeded",  # botocore, retries/standard.py, has these of other services, too
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
    ),
    "unreachable": (
        "RequestAbortedException",  # Lambda API, "Common errors"
        "RequestTimeoutException",
        "PriorRequestNotComplete",  # botocore, retries/standard.py
        "RequestTimeout",
        "ResourceConflictException",  # the function is being created or brought back (Lambda API, "Invoke")
    ),
}
"""Codes and reasons. A cancelled transaction has several reasons; the first row with one of them counts."""

KEY = "KMS "
"""How the message of a ValidationException begins if the table's key can't be used.

A disabled key, five minutes after it was disabled: "KMS key disabled error: …DisabledException: <ARN> is disabled". One
that will be deleted or doesn't exist: "KMS validation error: …KMSInvalidStateException: <ARN> is pending deletion". A
policy that denies it is an AccessDeniedException, "KMS key access denied error". Meanwhile, DescribeTable answers. AWS
doesn't document this; it was observed (ack-api-quirks, services/dynamodb, DDB-TABLE-331; aws-cdk issue 10010).
"""


def meaning(status: int, code: str, message: str = "", reasons: Iterable[str] = ()) -> Meaning:
    """Return what an error response means. `code` has no namespace; it is empty, or the status, if there is none."""
    names = {code, *reasons}
    for known, codes in MEANINGS.items():
        if not names.isdisjoint(codes):
            return known
    if status == 429:
        return "throttled"
    if status >= 500 or code in ("", str(status)) or (code == "ValidationException" and message.startswith(KEY)):
        return "unreachable"
    return "bug"
