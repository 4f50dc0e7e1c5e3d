"""Invoking another function: its result, its errors, and retries; and leaving an event for it."""

import io
import json
import zipfile
from collections.abc import Generator
from uuid import uuid4

import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed, invoke, send
from aws_client.service import ServiceError

from local.aws_clients import Aws
from proof.faulty_server import PATIENCE, Fault
from tests.lambda_.aws_client.faults import CUTS_AFTER, STALLS, answering, answers, whole

COORDINATOR = "arn:aws:lambda:us-east-1:000000000000:function:coordinate"

CODE = """
def handler(event, context):
    if "wrong" in event:
        raise ValueError(event["wrong"])
    return {"got": event}
"""

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)


@pytest.fixture
def function(aws: Aws, monkeypatch: pytest.MonkeyPatch, credentials: None) -> Generator[str]:
    """The ARN of a real function in another region than the caller's."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("echo.py", CODE)
    client = aws.client("lambda", "us-east-1")
    name = f"echo-{uuid4().hex[:8]}"
    role = aws.client("iam", "us-east-1").create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    made = client.create_function(
        FunctionName=name, Role=role, Runtime="python3.14", Handler="echo.handler", Code={"ZipFile": file.getvalue()}
    )
    client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")  # signatures are verified, and the server knows these keys
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    yield made["FunctionArn"]
    client.delete_function(FunctionName=name)
    aws.client("iam", "us-east-1").delete_role(RoleName=name)


def test_what_it_returns_and_what_it_raises(function: str) -> None:
    assert invoke(function, {"create": ["orders", "ü"]}, PATIENCE) == {"got": {"create": ["orders", "ü"]}}
    with pytest.raises(InvocationFailed, match=r"^the floor is too low$") as failed:
        invoke(function, {"wrong": "the floor is too low"}, PATIENCE)
    assert failed.value.kind


def test_a_function_that_does_not_exist_is_no_transient_error(function: str) -> None:
    with pytest.raises(ServiceError, match="ResourceNotFoundException") as failed:
        invoke(f"{function}-2", {}, PATIENCE)
    assert not failed.value.transient


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", [CUTS_AFTER, STALLS])
def test_it_may_run_again_if_its_response_is_lost(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(whole({"done": 1}), fault, fault) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        assert invoke(COORDINATOR, {"a": 1}, PATIENCE) == {"done": 1}
        assert len(server.requests) == 3

    head, _, body = server.requests[0].raw.partition(b"\r\n\r\n")
    name = b"arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3Acoordinate"
    assert head.startswith(b"POST /2015-03-31/functions/" + name + b"/invocations HTTP/1.1\r\n")
    assert b"/us-east-1/lambda/aws4_request" in head
    assert json.loads(body) == {"a": 1}


@pytest.mark.usefixtures("quick")
def test_a_function_that_is_being_created_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = whole({"message": "Pending"}, 409, {"x-amzn-ErrorType": "ResourceConflictException"})
    with answering(pending) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises(ServiceError, match="Pending") as failed:
            invoke(COORDINATOR, {}, PATIENCE)
    assert failed.value.transient


def test_an_asynchronous_invocation_has_no_result(function: str) -> None:
    send(function, {"wrong": "nobody hears of it"}, PATIENCE)
    with pytest.raises(ServiceError, match="ResourceNotFoundException"):
        send(f"{function}-2", {}, PATIENCE)


@pytest.mark.usefixtures("quick")
def test_an_event_is_accepted_by_an_empty_response(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    with answering(accepted) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        send(f"{COORDINATOR}:minting", {"grant": "orders"}, PATIENCE)

    (request,) = server.requests
    head, _, body = request.raw.partition(b"\r\n\r\n")
    assert b"%3Afunction%3Acoordinate%3Aminting/invocations HTTP/1.1\r\n" in head
    assert b"\r\nX-Amz-Invocation-Type: Event\r\n" in head
    assert b"x-amz-invocation-type" in head.partition(b"SignedHeaders=")[2].partition(b",")[0]
    assert json.loads(body) == {"grant": "orders"}


@pytest.mark.usefixtures("quick")
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
