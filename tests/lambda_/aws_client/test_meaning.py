"""What an error means, for the function that mints and for the coordinator: one table."""

import pytest
from aws_client.meaning import MEANINGS, Meaning, meaning

CODES = [(code, known) for known, codes in MEANINGS.items() for code in codes]


@pytest.mark.parametrize(("code", "known"), CODES)
@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_code_says_more_than_the_status(code: str, known: Meaning, status: int) -> None:
    assert meaning(status, code) == known


@pytest.mark.parametrize(
    ("status", "code", "message", "known"),
    [
        (500, "InternalServerError", "", "unreachable"),
        (503, "ServiceUnavailableException", "", "unreachable"),
        (599, "SomethingNew", "", "unreachable"),
        (503, "503", "", "unreachable"),
        (403, "", "", "unreachable"),
        (403, "403", "<html>", "unreachable"),
        (429, "SomethingNew", "", "throttled"),
        (429, "429", "", "throttled"),
        (400, "SomethingNew", "", "bug"),
        (400, "ValidationException", "The provided key element does not match the schema", "bug"),
        (400, "ValidationException", "KMS key disabled error: …DisabledException: … is disabled.", "unreachable"),
        (400, "ValidationException", "KMS validation error: …NotFoundException: … does not exist", "unreachable"),
    ],
)
def test_a_status_says_what_is_unknown(status: int, code: str, message: str, known: Meaning) -> None:
    assert meaning(status, code, message) == known


@pytest.mark.parametrize(
    ("reasons", "known"),
    [
        (["None", "ConditionalCheckFailed"], "condition"),
        (["ThrottlingError", "ConditionalCheckFailed"], "condition"),
        (["TransactionConflict", "None"], "conflict"),
        (["None", "ThrottlingError"], "throttled"),
        (["ProvisionedThroughputExceeded", "None"], "throttled"),
        (["None", "ValidationError"], "bug"),
    ],
)
def test_a_cancelled_transaction_says_why(reasons: list[str], known: Meaning) -> None:
    assert meaning(400, "TransactionCanceledException", reasons=reasons) == known
