"""What a version of a minting function must answer, and what is made of other answers."""

import json
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed
from aws_client.service import ServiceError
from coordinate.check import ATTEMPTS, PATIENCE, PAUSE, problem_of
from coordinate.events import Check
from coordinate.functions import Functions, MintResponse, answer_of
from coordinate.protocol.model import Absent, Item
from coordinate.protocol.operations import ReadItem
from mint.api.problems import ceiling_reached, missing
from mint.api.reply import problem_response
from mint.api.request import Problem
from mint.model import CounterItem as MintItem

from proof.faulty_server import Request, Response, Server, json_response
from tests.lambda_.coordinate.sample_records import items_of, register

ASKED = Check("a", "integers", "12", "1+f", "3f")
ITEM = items_of(register("a", "b"))["a"]
HEALTHY = MintResponse("200", 200, {"status": "ok"})
STATUS = MintResponse("200", 200, {"version": "1+f", "build": "3f"})
FUNCTIONS = Functions("arn:aws:lambda:us-east-1:000000000000:function:coordinate:deployments", "mint")


def responded(problem: Problem) -> MintResponse:
    """Return what the coordinator reads of the minting function's own response."""
    return answer_of(json.loads(json.dumps(problem_response(problem, "a"))))


def minted(integer: object) -> MintResponse:
    return MintResponse(f"200 {integer}", 200, {"integer": integer})


class Function:
    """A minting function with these answers, of which the last one stays, and the item of its region.

    Where it answers with an integer, the next one is issued in the table. What is `following` takes the item's place
    while the first integer is minted.
    """

    def __init__(
        self,
        *mint: MintResponse,
        health: tuple[MintResponse, ...] = (HEALTHY,),
        status: MintResponse = STATUS,
        item: Any = ITEM,
        following: Item | None = None,
    ) -> None:
        self.item = item
        self.asked: list[tuple[str, str]] = []
        self._following = following
        listed = {"/-check": mint, "/-/health": health, "/-/status": (status,)}
        self._answers = {path: chain(answers, repeat(answers[-1])) for path, answers in listed.items()}

    def carry_out(self, operation: object) -> Any:
        assert operation in (ReadItem("a", "integers"), ReadItem("a", "-check"))
        return self.item

    def ask(self, method: str, path: str) -> MintResponse:
        self.asked.append((method, path))
        answer = next(self._answers[path])
        if path == "/-check" and self._following is not None:
            self.item, self._following = self._following, None
        elif path == "/-check" and answer.status == 200 and isinstance(self.item, Item):
            more = self.item.stride if self.item.issued < self.item.ceiling else 0
            self.item = replace(self.item, issued=self.item.issued + more)
        return answer

    def problem(self) -> str | None:
        """Return what the coordinator finds wrong with it."""
        found = problem_of(ASKED, self.carry_out, self.ask)
        return found and found.text


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the coordinator waits. No other time passes."""
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    return pauses


def test_a_region_is_asked_for_its_health_and_for_one_integer() -> None:
    function = Function(minted(501))

    assert function.problem() is None
    assert function.asked == [("GET", "/-/health"), ("POST", "/-check"), ("GET", "/-/status")]


ERROR, REFUSAL = MintResponse("500", 500), MintResponse("503", 503)
ISSUED = replace(ITEM, issued=501)
USED_UP = replace(ITEM, issued=ITEM.ceiling)
NO_CHECK, NO_COUNTER = responded(missing("-check")), responded(missing("integers", in_health_check=True))
TRANSIENT = MintResponse("429 Too Many Requests", passing=True)
NEXT = items_of(register("a", "b", epoch=4, base=9001))["a"]


@pytest.mark.parametrize(
    "function",
    [
        Function(minted(503), item=ISSUED),
        Function(minted(501), minted(9003), following=NEXT),  # of an epoch that has just begun
        Function(NO_CHECK, health=(NO_COUNTER,), item=None),
        Function(NO_CHECK, item=None),
        Function(minted(503), item=Absent.UNREACHABLE),  # any integer proves that it works
        Function(NO_CHECK, health=(NO_COUNTER,), item=Absent.UNREACHABLE),
        Function(REFUSAL, health=(REFUSAL,), item=USED_UP),
        # The layout may just have changed.
        Function(*[minted(502)] * (ATTEMPTS - 1), minted(501 + 2 * (ATTEMPTS - 1))),
        Function(*[TRANSIENT] * 10, minted(501), health=(*[TRANSIENT] * 10, HEALTHY)),
    ],
)
def test_a_function_that_is_right_passes(function: Function) -> None:
    assert function.problem() is None


CHECKED = "POST /-check: expected 200 and an integer of a, but got"
HEALTH = "GET /-/health: expected 200, but got"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Function(minted(502)), f"{CHECKED} 200 502"),  # of the other region
        (Function(minted(499)), f"{CHECKED} 200 499"),  # of a past epoch
        (Function(minted(501 + 1000 * 2)), f"{CHECKED} 200 2501"),  # above the ceiling
        (Function(minted("501")), f"{CHECKED} 200 501"),
        (Function(minted(True)), f"{CHECKED} 200 True"),
        (Function(minted(None)), f"{CHECKED} 200 None"),
        (Function(ERROR), f"{CHECKED} 500"),
        (Function(REFUSAL), f"{CHECKED} 503"),
        (Function(NO_CHECK), f"{CHECKED} 404"),
        (Function(minted(501), item=ISSUED), f"{CHECKED} 200 501"),  # it was issued before
        # A build that counts somewhere else could mint it again.
        (Function(minted(503), minted(505), minted(507)), f"{CHECKED} 200 507"),
        (Function(minted(501), health=(ERROR,)), f"{HEALTH} 500"),
        (Function(minted(501), health=(NO_COUNTER,)), f"{HEALTH} 503"),
        (Function(minted(501), item=None), "to hear that there is no counter '-check'"),
        (Function(minted(501), health=(REFUSAL,), item=None), "to hear that there is no counter 'integers'"),
        (Function(minted("503"), item=Absent.UNREACHABLE), "expected 200"),
        (Function(ERROR, item=Absent.UNREACHABLE), "expected 200"),
        (Function(minted(501), health=(ERROR,), item=USED_UP), "503, since no integer is left"),
    ],
)
def test_a_function_that_is_wrong_is_told(function: Function, expected: str) -> None:
    assert expected in (function.problem() or "")


@pytest.mark.parametrize(
    "status",
    [
        MintResponse("200 1+e", 200, {"version": "1+e", "build": "3f"}),
        MintResponse("200 1+f, but with the settings before", 200, {"version": "1+f", "build": "3e"}),
        ERROR,
    ],
    ids=lambda a: a.text,
)
def test_the_new_code_must_be_what_runs(status: MintResponse) -> None:
    """`pulumi up --target` may leave the function out.

    And where an update fails after the code was uploaded, the provider doesn't publish it at the next one
    (terraform-provider-aws, `resourceFunctionUpdate`).
    """
    found = Function(minted(501), minted(503), minted(505), status=status).problem()

    assert found == f"GET /-/status: expected version 1+f and build 3f, but got {status.text}"


def test_a_wrong_answer_is_asked_for_again_and_not_for_ever(slept: list[float]) -> None:
    function = Function(minted(502))
    function.problem()
    assert function.asked.count(("POST", "/-check")) == ATTEMPTS
    assert slept == [PAUSE] * (ATTEMPTS - 1)

    slept.clear()
    assert "but got 429" in (Function(TRANSIENT).problem() or "")
    assert sum(slept) == PATIENCE


@pytest.mark.parametrize(
    ("ending", "passing", "text"),
    [
        (InvocationFailed("Runtime.ImportModuleError", "no module"), False, "Runtime.ImportModuleError: no module"),
        (InvocationFailed("", "Task timed out after 10.00 seconds"), False, "function: Task timed out"),
        (NoResponse("timed out"), True, "timed out"),
        (ServiceError(429, "TooManyRequestsException", "slow down"), True, "TooManyRequests"),
        (ServiceError(403, "AccessDeniedException", "no"), True, "AccessDenied"),
        (ServiceError(404, "ResourceNotFoundException", "no"), False, "NotFound"),
    ],
)
def test_how_a_function_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, ending: Exception, passing: bool, text: str
) -> None:
    def invoke(*_: object, **__: object) -> None:
        raise ending

    monkeypatch.setattr("coordinate.functions.invoke_with_log", invoke)
    answer = FUNCTIONS.ask("eu-west-1", "12")("POST", "/-check")

    assert (answer.status, answer.passing) == (0, passing)
    assert text in answer.text


@pytest.mark.parametrize(
    ("response", "status", "passing"),
    [
        ({}, 0, False),
        ({"statusCode": "200"}, 0, False),
        ({"statusCode": 200, "body": "{"}, 200, False),
        ({"statusCode": 200, "headers": 7, "body": 7}, 200, False),
        ({"statusCode": 503, "headers": {"retry-after": "1"}, "body": "{}"}, 503, True),
        ({"statusCode": 503, "body": "{}"}, 503, False),
        ({"statusCode": 429}, 429, True),
    ],
)
def test_a_response_may_be_anything(response: dict[str, Any], status: int, passing: bool) -> None:
    answer = answer_of(response)

    assert (answer.status, answer.passing, answer.document) == (status, passing, {})


def test_the_functions_own_refusals_are_read() -> None:
    answer = responded(ceiling_reached("integers", None, MintItem(5, 2, 5, 1, False, {})))

    assert (answer.status, answer.passing) == (503, True)


async def says_how_it_was_asked(request: Request) -> Response:
    if request.path == "/refused":
        return json_response({"Message": "Forbidden"}, 403)
    headers = request.headers
    return json_response({"host": headers["host"], "path": request.path, "signed": headers.get("authorization")})


def test_a_function_url_is_asked_as_a_caller_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    host = "abc.lambda-url.eu-west-1.on.aws"
    with Server(says_how_it_was_asked) as server:
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "ENDPOINT_URL": server.url}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        found = FUNCTIONS.ask_url("eu-west-1", f"https://{host}/")("GET", "/-/health")
        assert (found.status, found.document["host"], found.document["path"]) == (200, host, "/-/health")
        assert "/eu-west-1/lambda/aws4_request, SignedHeaders=host;" in found.document["signed"]
        monkeypatch.delenv("AWS_ENDPOINT_URL")
        refused = FUNCTIONS.ask_url("eu-west-1", f"{server.url}/")("GET", "/refused")
        assert (refused.status, refused.passing) == (403, True), "AWS may not know the new policy yet"

    silent = FUNCTIONS.ask_url("eu-west-1", f"{server.url}/")("GET", "/-/health")
    assert (silent.status, silent.passing, silent.text[:13]) == (0, True, "no response: ")
