"""Invoking another function: its result, its errors, and no second run unless the call is idempotent."""

import io
import json
import zipfile
from collections.abc import Generator
from uuid import uuid4

import pytest
from aws.invocation import InvocationFailed, NotAllowed, NotReached, invoke

from local.resources import Aws
from tests.lambda_.aws.faulty_server import PATIENCE, FaultyServer, Turn, answers, cuts_after, stalls, whole

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
        FunctionName=name,
        Role=role,
        Runtime="python3.14",
        Handler="echo.handler",
        Code={"ZipFile": file.getvalue()},
    )
    client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")  # signatures are verified, and the server knows these keys
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    yield made["FunctionArn"]
    client.delete_function(FunctionName=name)
    aws.client("iam", "us-east-1").delete_role(RoleName=name)


def test_what_it_returns_and_what_it_raises(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(function, {"create": ["orders", "ü"]}, PATIENCE) == {"got": {"create": ["orders", "ü"]}}
    with pytest.raises(InvocationFailed, match=r"^the floor is too low$") as failed:
        invoke(function, {"wrong": "the floor is too low"}, PATIENCE)
    assert failed.value.kind

    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert invoke(function.rpartition(":")[2], {}, PATIENCE) == {"got": {}}


def test_a_function_that_does_not_exist_is_no_transient_error(function: str) -> None:
    with pytest.raises(NotAllowed, match="ResourceNotFoundException"):
        invoke(f"{function}-2", {}, PATIENCE)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", [cuts_after, stalls])
def test_it_runs_once_unless_the_call_is_idempotent(fault: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(fault, answers(whole({"done": 1}))) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises(NotReached):
            invoke("coordinate", {}, PATIENCE)
        assert len(server.requests) == 1

    with FaultyServer(fault, fault, answers(whole({"done": 1}))) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        assert invoke("coordinate", {"a": 1}, PATIENCE, idempotent=True) == {"done": 1}
        assert len(server.requests) == 3

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /2015-03-31/functions/coordinate/invocations HTTP/1.1\r\n")
    assert b"/lambda/aws4_request" in head
    assert json.loads(body) == {"a": 1}


@pytest.mark.usefixtures("quick")
def test_a_function_that_is_being_created_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = whole({"message": "Pending"}, 409, more="x-amzn-ErrorType: ResourceConflictException\r\n")
    with FaultyServer(answers(pending)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with pytest.raises(NotReached, match="Pending"):
            invoke("mint", {}, PATIENCE)
