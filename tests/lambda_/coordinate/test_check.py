"""What a version of a minting function must answer, and what is made of other answers."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed
from aws_client.service import ServiceError
from coordinate.check import ATTEMPTS, PATIENCE, PAUSE, problem_of
from coordinate.check import Problem as Wrong
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
ITEMS = items_of(register("a", "b"))
HEALTHY = MintResponse("200", 200, {"status": "ok"})
STATUS = MintResponse("200", 200, {"version": "1+f", "build": "3f"})
FUNCTIONS = Functions("arn:aws:lambda:us-east-1:000000000000:function:coordinate:deployments", "mint")


def responded(problem: Problem) -> MintResponse:
    """Return what the coordinator reads of the minting function's own response."""
    return answer_of(json.loads(json.dumps(problem_response(problem, "a"))))


def minted(integer: object) -> MintResponse:
    return MintResponse(f"200 {integer}", 200, {"integer": integer})


def empty(counter: str) -> MintResponse:
    """Return the health of a region without the counter."""
    return responded(missing(counter, in_health_check=True))


class Tables:
    """What the coordinator reads: by default both counters are open in both regions."""

    def __init__(self, **items: Any) -> None:
        self.items: dict[str, Item | Absent | None] = {**ITEMS, **items}

    def carry_out(self, operation: object) -> Any:
        assert isinstance(operation, ReadItem)
        return self.items[operation.region]

    def mint(self) -> None:
        """Issue the next integer of region a, as a function does that works."""
        item = self.items["a"]
        if isinstance(item, Item) and item.issued < item.ceiling:
            self.items["a"] = replace(item, issued=item.issued + item.stride)


class Changing(Tables):
    """The next epoch begins while the first integer is minted."""

    def __init__(self, following: Item) -> None:
        super().__init__()
        self._following: Item | None = following

    def mint(self) -> None:
        if self._following is not None:
            self.items["a"], self._following = self._following, None
        super().mint()


class Function:
    """Answers of the minting function; the last one of a list stays."""

    def __init__(
        self,
        mint: MintResponse | list[MintResponse],
        health: MintResponse | list[MintResponse] = HEALTHY,
        status: MintResponse = STATUS,
    ) -> None:
        self.tables = Tables()
        self.asked: list[tuple[str, str]] = []
        self._answers = {"/-check": _each(mint), "/-/health": _each(health), "/-/status": _each(status)}

    def ask(self, method: str, path: str) -> MintResponse:
        self.asked.append((method, path))
        answer = next(self._answers[path])
        if path == "/-check" and answer.status == 200:
            self.tables.mint()
        return answer


def _each(answers: MintResponse | list[MintResponse]) -> Iterator[MintResponse]:
    listed = answers if isinstance(answers, list) else [answers]
    yield from listed
    while True:
        yield listed[-1]


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the coordinator waits. No other time passes."""
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    return pauses


def problem(function: Function, tables: Tables | None) -> Wrong | None:
    function.tables = tables or function.tables
    return problem_of(ASKED, function.tables.carry_out, function.ask)


def refusal(function: Function, tables: Tables | None = None) -> str:
    found = problem(function, tables)
    assert found is not None
    return found.text


def passes(function: Function, tables: Tables | None = None) -> None:
    assert problem(function, tables) is None


def test_a_region_is_asked_for_its_health_and_for_one_integer() -> None:
    function = Function(minted(501))
    passes(function)

    assert function.asked == [("GET", "/-/health"), ("POST", "/-check"), ("GET", "/-/status")]


@pytest.mark.parametrize(
    "status",
    [
        MintResponse("200 1+e", 200, {"version": "1+e", "build": "3f"}),
        MintResponse("200 1+f, but with the settings before", 200, {"version": "1+f", "build": "3e"}),
        MintResponse("200", 200),
        MintResponse("500", 500),
    ],
    ids=lambda a: a.text,
)
def test_the_new_code_must_be_what_runs(status: MintResponse) -> None:
    """`pulumi up --target` may leave the function out.

    And where an update fails after the code was uploaded, the provider doesn't publish it at the next one
    (terraform-provider-aws, `resourceFunctionUpdate`).
    """
    refused = refusal(Function([minted(501), minted(503), minted(505)], status=status))

    assert f"GET /-/status: expected version 1+f and build 3f, but got {status.text}" in refused


@pytest.mark.parametrize(
    "wrong",
    [
        minted(502),  # of the other region
        minted(499),  # of a past epoch
        minted(501 + 1000 * 2),  # above the ceiling
        minted("501"),
        minted(True),
        minted(None),
        MintResponse("an error of the function: Runtime.ImportModuleError: no module"),
        MintResponse("500", 500),
        MintResponse("503 unavailable", 503, {"detail": "the table is unavailable; try again"}),
        responded(missing("-check")),
        MintResponse("410", 410),
    ],
    ids=lambda answer: answer.text[:40],
)
def test_a_region_must_mint_one_of_its_own_integers(wrong: MintResponse) -> None:
    refused = refusal(Function(wrong))

    assert refused == f"POST /-check: expected 200 and an integer of a, but got {wrong.text}"


def test_an_integer_that_was_issued_before_is_wrong() -> None:
    issued = replace(ITEMS["a"], issued=501)

    assert "POST /-check" in refusal(Function(minted(501)), Tables(a=issued))
    passes(Function(minted(503)), Tables(a=issued))


def test_an_integer_that_the_table_does_not_have_is_wrong() -> None:
    """A build that counts somewhere else could mint it again."""
    function = Function([minted(integer) for integer in (503, 505, 507)])

    assert "POST /-check" in refusal(function), "each is one ahead of the table"


def test_an_integer_of_an_epoch_that_has_just_begun_is_asked_for_again() -> None:
    following = items_of(register("a", "b", epoch=4, base=9001))["a"]
    changing = Changing(following)
    passes(Function([minted(501), minted(9003)]), changing)

    assert changing.items["a"] == replace(following, issued=9003)


@pytest.mark.parametrize(
    "wrong",
    [MintResponse("500", 500), empty("integers"), MintResponse("an error of the function")],
    ids=lambda a: a.text[:20],
)
def test_where_the_default_counter_is_open_health_must_be_good(wrong: MintResponse) -> None:
    assert "GET /-/health: expected 200, but got" in refusal(Function(minted(501), wrong))


def test_a_region_without_the_counters_only_has_to_say_so() -> None:
    tables = Tables(a=None)
    passes(Function(responded(missing("-check")), empty("integers")), tables)
    passes(Function(responded(missing("-check"))), tables)

    assert "to hear that there is no counter '-check'" in refusal(Function(minted(501)), tables)
    assert "to hear that there is no counter 'integers'" in refusal(
        Function(minted(501), MintResponse("503", 503)), tables
    )
    assert "GET /-/health" in refusal(Function(minted(501), MintResponse("500", 500)), tables)


def test_where_the_table_cannot_be_read_any_integer_proves_that_the_function_works() -> None:
    tables = Tables(a=Absent.UNREACHABLE)
    passes(Function(minted(503)), tables)
    passes(Function(responded(missing("-check")), empty("integers")), tables)

    assert "expected 200" in refusal(Function(minted("503")), tables)
    assert "expected 200" in refusal(Function(MintResponse("500", 500)), tables)


def test_a_counter_that_has_no_integer_left_is_refused_rightly() -> None:
    used_up = replace(ITEMS["a"], issued=ITEMS["a"].ceiling)
    passes(Function(MintResponse("503", 503), MintResponse("503", 503)), Tables(a=used_up))

    assert "503, since no integer is left" in refusal(
        Function(minted(501), MintResponse("500", 500)), Tables(a=used_up)
    )


def test_a_wrong_answer_must_be_given_several_times(slept: list[float]) -> None:
    """The layout may just have changed."""
    passes(Function([minted(502)] * (ATTEMPTS - 1) + [minted(501 + 2 * (ATTEMPTS - 1))]))
    slept.clear()
    function = Function(minted(502))
    refusal(function)

    assert function.asked.count(("POST", "/-check")) == ATTEMPTS
    assert slept == [PAUSE] * (ATTEMPTS - 1)


def test_an_error_that_passes_is_waited_for_but_not_for_ever(slept: list[float]) -> None:
    transient = MintResponse("429 Too Many Requests", passing=True)
    passes(Function([transient] * 10 + [minted(501)], [transient] * 10 + [HEALTHY]))
    slept.clear()

    assert "but got 429" in refusal(Function(transient))
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


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where AWS's endpoints are."""
    with Server(says_how_it_was_asked) as server:
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "ENDPOINT_URL": server.url}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        yield server.url


def test_a_function_url_is_asked_as_a_caller_asks(elsewhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = "abc.lambda-url.eu-west-1.on.aws"
    found = FUNCTIONS.ask_url("eu-west-1", f"https://{host}/")("GET", "/-/health")
    assert (found.status, found.document["host"], found.document["path"]) == (200, host, "/-/health")
    assert "/eu-west-1/lambda/aws4_request, SignedHeaders=host;" in found.document["signed"]

    monkeypatch.delenv("AWS_ENDPOINT_URL")
    refused = FUNCTIONS.ask_url("eu-west-1", f"{elsewhere}/")("GET", "/refused")
    assert (refused.status, refused.passing) == (403, True), "AWS may not know the new policy yet"


def test_a_url_without_a_server_is_asked_again(monkeypatch: pytest.MonkeyPatch, elsewhere: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    answer = FUNCTIONS.ask_url("eu-west-1", "https://abc.lambda-url.eu-west-1.on.aws/")("GET", "/-/health")

    assert (answer.status, answer.passing) == (0, True)
    assert answer.text.startswith("no response: ")
