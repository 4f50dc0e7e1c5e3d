"""Invoking another function: its result, its errors, and retries; and leaving an event for it."""

import json

import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed, invoke, send
from aws_client.service import ServiceError

from proof.faulty_server import PATIENCE, Fault
from tests.lambda_.aws_client.faults import CUTS_AFTER, STALLS, answering, answers, whole
from tests.lambda_.recorded import Recorded, recorded

pytestmark = pytest.mark.usefixtures("quick")

COORDINATOR = "arn:aws:lambda:us-east-1:000000000000:function:coordinate"


def test_what_it_returns_and_what_it_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"errorType": "ValueError", "errorMessage": "the floor is too low"}
    raised = whole(wrong, headers={"X-Amz-Function-Error": "Unhandled"})
    missing = whole({"Message": "no"}, 404, {"x-amzn-ErrorType": "ResourceNotFoundException:http://internal"})
    pending = whole({"message": "Pending"}, 409, {"x-amzn-ErrorType": "ResourceConflictException"})
    with answering(missing, answers(whole({"got": "ü"})), answers(raised)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        assert invoke(COORDINATOR, {}, PATIENCE) == {"got": "ü"}
        with pytest.raises(InvocationFailed, match=r"^the floor is too low$") as failed:
            invoke(COORDINATOR, {}, PATIENCE)
        for call in (invoke, send):
            with pytest.raises(ServiceError, match="ResourceNotFoundException") as gone:
                call(COORDINATOR, {}, PATIENCE)
            assert not gone.value.transient
        server.faults.append(answers(pending))
        with pytest.raises(ServiceError, match="Pending") as created:
            invoke(COORDINATOR, {}, PATIENCE)

    assert failed.value.kind == "ValueError"
    assert created.value.transient, "the function is being created"


@recorded("function")
def test_an_error_has_the_functions_words(answer: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(answer.raw) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises(InvocationFailed) as failed:
            invoke(COORDINATOR, {}, PATIENCE)

    assert [failed.value.kind, str(failed.value)] == answer.means["raised"]


@recorded("lambda")
def test_what_lambda_answered_has_a_meaning(answer: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(answer.raw) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises(ServiceError) as refused:
            invoke(COORDINATOR, {}, PATIENCE)

    assert (refused.value.meaning, refused.value.status) == (answer.means["meaning"], answer.status)
    assert "None" not in str(refused.value)


@pytest.mark.parametrize("fault", [CUTS_AFTER, STALLS])
def test_it_may_run_again_if_its_response_is_lost(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(whole({"done": 1}), fault, fault) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        assert invoke(COORDINATOR, {"a": 1}, PATIENCE) == {"done": 1}
        assert len(server.requests) == 3

    head, body = server.requests[0].head, server.requests[0].body
    name = b"arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3Acoordinate"
    assert head.startswith(b"POST /2015-03-31/functions/" + name + b"/invocations HTTP/1.1\r\n")
    assert b"/us-east-1/lambda/aws4_request" in head
    assert json.loads(body) == {"a": 1}


def test_an_event_is_accepted_by_an_empty_response(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    with answering(accepted) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        send(f"{COORDINATOR}:minting", {"grant": "orders"}, PATIENCE)

    (request,) = server.requests
    head, body = request.head, request.body
    assert b"%3Afunction%3Acoordinate%3Aminting/invocations HTTP/1.1\r\n" in head
    assert b"\r\nX-Amz-Invocation-Type: Event\r\n" in head
    assert b"x-amz-invocation-type" in head.partition(b"SignedHeaders=")[2].partition(b",")[0]
    assert json.loads(body) == {"grant": "orders"}


@pytest.mark.parametrize(
    "fault", [CUTS_AFTER, STALLS, answers(whole({"message": "slow down"}, 429)), answers(whole({"message": "?"}, 403))]
)
def test_an_event_is_sent_once(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(b"") as server:
        server.faults.append(fault)
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises((NoResponse, ServiceError)):
            send(COORDINATOR, {}, PATIENCE)
        assert len(server.requests) == 1
