"""Aliases are read and moved by Lambda's API, and what it refuses is told apart."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from coordinate.functions import Alias, AliasError, Functions, described

from proof.faulty_server import Reply, Server
from tests.lambda_.aws_client.faults import answering, whole
from tests.lambda_.coordinate.error_responses import raw, stopped_clock
from tests.lambda_.recorded import Recorded, recorded

EU = "eu-west-1"
PATH = b"/2015-03-31/functions/shop-mint/aliases/live"


@contextmanager
def aws_lambda(monkeypatch: pytest.MonkeyPatch, answer: Reply) -> Generator[Server]:
    """Yield Lambda of every region, which always answers so."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    stopped_clock(monkeypatch)
    with answering(answer) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield server


MINT = Functions("arn:aws:lambda:us-east-1:000000000000:function:shop-coordinate:deployments", "shop-mint")


def refusal(status: int, kind: str) -> bytes:
    return whole({"Message": "said so"}, status, {"x-amzn-ErrorType": kind})


def test_an_alias_is_read_with_its_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"FunctionVersion": "7", "Description": described("7", "3f", "6", proven=True), "RevisionId": "r"}
    with aws_lambda(monkeypatch, whole(found, 200)) as server:
        alias = MINT.alias(EU)

    assert alias is not None
    assert alias == Alias("7", "3f", "", alias.since, "6", proven=True, revision="another")
    assert alias.revision == "r"
    with aws_lambda(monkeypatch, refusal(404, "ResourceNotFoundException")):
        assert MINT.alias(EU) is None
    assert server.requests[0].head.startswith(b"GET " + PATH + b" HTTP/1.1\r\n")
    assert b"/eu-west-1/lambda/aws4_request" in server.requests[0].head


def test_an_alias_is_moved_only_from_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with aws_lambda(monkeypatch, whole({"FunctionVersion": "8"}, 200)) as server:
        MINT.move(EU, Alias("7", revision="r"), "8", "why")
        MINT.move(EU, Alias("7"), "8", "why")

    first, second = server.requests
    assert first.head.startswith(b"PUT " + PATH + b" HTTP/1.1\r\n")
    wanted = {"FunctionVersion": "8", "Description": "why"}
    assert [first.document, second.document] == [{**wanted, "RevisionId": "r"}, wanted]


@pytest.mark.parametrize(
    ("answer", "denied", "requests"),
    [
        (refusal(403, "AccessDeniedException"), True, 2),
        (refusal(409, "ResourceConflictException"), False, 2),
        (refusal(412, "PreconditionFailedException"), False, 1),
        (refusal(400, "InvalidParameterValueException"), False, 1),
        (refusal(429, "TooManyRequestsException"), False, 2),
        (raw(503), False, 2),
        (raw(200, b"<html>"), False, 2),
        (raw(200, b"[]"), False, 1),
    ],
)
def test_what_lambda_refuses_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, denied: bool, requests: int
) -> None:
    with aws_lambda(monkeypatch, answer) as server:
        with pytest.raises(AliasError) as reading:
            MINT.alias(EU)
        made = len(server.requests)
        with pytest.raises(AliasError) as moving:
            MINT.move(EU, Alias("7", revision="r"), "8", "why")

    assert [found.value.denied for found in (reading, moving)] == [denied] * 2
    assert made == requests


@recorded("lambda")
def test_what_lambda_answered_of_an_alias(monkeypatch: pytest.MonkeyPatch, answer: Recorded) -> None:
    """And whether asking the function again may help: while it isn't accepted, throttled or being changed."""
    expected = answer.means["alias"]
    with aws_lambda(monkeypatch, answer.raw):
        with pytest.raises(AliasError) as moving:
            MINT.move(EU, Alias("7", revision="r"), "8", "why")
        asked = MINT.ask(EU, "8")("GET", "/-/health")
        if expected == "none":
            assert MINT.alias(EU) is None

    assert moving.value.denied is (expected == "denied")
    assert asked.passing is (answer.means["meaning"] in ("throttled", "unreachable", "unaccepted"))


@recorded("function")
def test_what_a_failed_function_says_is_shown(monkeypatch: pytest.MonkeyPatch, answer: Recorded) -> None:
    with aws_lambda(monkeypatch, answer.raw):
        asked = MINT.ask(EU, "8")("GET", "/-/health")

    assert (asked.text, asked.status) == (": ".join(["an error of the function", *answer.means["raised"]]), 0)
    assert not asked.passing


@recorded("url")
def test_what_aws_answers_in_its_place_may_pass(monkeypatch: pytest.MonkeyPatch, answer: Recorded) -> None:
    with aws_lambda(monkeypatch, answer.raw):
        asked = MINT.ask_url(EU, "https://0f5a.lambda-url.eu-west-1.on.aws/")("GET", "/-/health")

    assert (asked.status, asked.passing) == (answer.status, answer.means["passing"])
