"""Errors as AWS and what stands between send them, and time that needn't pass.

`aws_client/meaning.py` says where each is documented.
"""

import threading
import time
from collections.abc import Mapping

import pytest

from proof.faulty_server import Response
from tests.lambda_.aws_client.faults import whole
from tests.lambda_.fixtures import Stack
from tests.lambda_.in_process import Answer, InProcess


def raw(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """Return a response that isn't DynamoDB's, by default an empty one."""
    return Response(status, body, headers or {}).encode()


def error(code: str, status: int = 400, message: str = "said so") -> bytes:
    """Return an error as DynamoDB sends it."""
    return whole({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}, status)


KMS = "com.amazonaws.services.kms.model."

OUTAGES = {
    "503 with HTML": raw(503, b"<html><body><b>Http/1.1 Service Unavailable</b></body></html>"),
    "503 with text": raw(503, b"upstream connect error or disconnect/reset before headers"),
    **{f"{status} without a body": raw(status) for status in (500, 502, 504, 507)},
    "500 with other JSON": raw(500, b"[]"),
    "500 with no code": raw(500, b'{"__type": null}'),
    **{code: error(code, 500) for code in ("InternalServerError", "InternalFailure", "ServiceUnavailableException")},
    "200 with HTML": raw(200, b"<html>captive portal</html>"),
    "200 without a body": raw(200),
    "200 with other JSON": raw(200, b"[]"),
    "200 with a wrong checksum": whole({}, crc=1),
    "a proxy's 403": raw(403, b"<html>blocked</html>"),
    "a proxy's 407": raw(407),
    "a redirect": raw(302, headers={"Location": "http://127.0.0.1:1/"}),
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a closed connection": b"",
    "half an answer": whole({"Item": {}})[:-5],
}
KEYS = {
    "a disabled key": error("ValidationException", message=f"KMS key disabled error: {KMS}DisabledException: a"),
    "a key to be deleted": error("ValidationException", message=f"KMS validation error: {KMS}KMSInvalidStateException"),
}
OF_TOKENS = ("AccessDeniedException", "ExpiredTokenException", "MissingAuthenticationToken", "OptInRequired")
OF_SIGNATURES = (
    *("IncompleteSignature", "InvalidClientTokenId", "InvalidSignatureException", "RequestExpired"),
    "UnrecognizedClientException",
)
SIGNERS = {
    "a denied key": error("AccessDeniedException", message=f"KMS key access denied error: {KMS}AWSKMSException: a"),
    **{code: error(code, 403) for code in (*OF_TOKENS, *OF_SIGNATURES)},
}
THROTTLED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException")
THROTTLES = {"429 without a body": raw(429), **{code: error(code) for code in THROTTLED}}
TRANSIENT = OUTAGES | KEYS | SIGNERS | THROTTLES


def answer(stack: Stack, answer: Answer) -> None:
    """Let regions answer so, where that returns something."""
    assert isinstance(stack.aws, InProcess)
    stack.aws.answer = answer


class Clock(threading.local):
    """Each thread's time, which passes only by waiting."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def stopped_clock(patch: pytest.MonkeyPatch) -> Clock:
    """Let time pass at once where the coordinator or a call waits before it tries again."""
    clock = Clock()
    patch.setattr("coordinate.dynamodb.calls.time", clock)
    patch.setattr("aws_client.service.time", clock)
    return clock
