"""`PUT /{counter}` where the coordinator doesn't do it: what passes is told from what doesn't."""

from typing import Any

import mint.counters
import pytest
from aws.invocation import InvocationFailed, NotAllowed, NotReached

ENDED = InvocationFailed("Runtime.ExitError", "signal: killed")
LATE = InvocationFailed("Sandbox.Timedout", "Task timed out after 900.00 seconds")
REFUSED = InvocationFailed("CoordinatorError", "invoices: the register was lost.")


@pytest.mark.parametrize(
    ("ending", "again", "told"),
    [
        (REFUSED, False, "the register was lost"),
        (ENDED, True, "try again"),
        (LATE, True, "try again"),
        (NotReached("timed out"), True, "try again"),
        (NotAllowed("AccessDeniedException (403): no"), False, "can't be invoked"),
    ],
)
def test_a_client_is_told_whether_to_ask_again(ask: Any, stack: Any, ending: Exception, again: bool, told: str) -> None:
    def invoke(*_: object, **__: object) -> None:
        raise ending

    stack.monkeypatch.setenv("COORDINATOR", "arn:aws:lambda:us-east-1:000000000000:function:coordinate")
    stack.monkeypatch.setattr(mint.counters, "invoke", invoke)

    answer = ask("PUT", "/invoices")

    assert answer["statusCode"] == 503
    assert ("Retry-After" in answer["headers"]) == again
    assert told in answer["document"]["detail"]
