"""DynamoDB's JSON protocol."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import re

import pytest

from tests.lambda_.aws_client.faults import ANSWER, GOOD, answering, dynamodb_at

pytestmark = pytest.mark.usefixtures("quick")


def test_calls_have_the_headers_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(GOOD) as server:
        dynamodb = dynamodb_at(server, monkeypatch)

        assert [dynamodb.call("UpdateItem", {"TableName": "t"}) for _ in range(5)] == [ANSWER] * 5
        host = server.url.removeprefix("http://")
        dynamodb.close()

    assert server.connections == 1
    head, _, body = server.requests[0].raw.partition(b"\r\n\r\n")
    assert body == b'{"TableName": "t"}'
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    assert f"Host: {host}" in lines
    assert "X-Amz-Target: DynamoDB_20120810.UpdateItem" in lines
    assert "Content-Type: application/x-amz-json-1.0" in lines
    assert "X-Amz-Security-Token: the-token" in lines
    assert re.search(
        r"Authorization: AWS4-HMAC-SHA256 Credential=AKID/\d{8}/eu-west-1/dynamodb/aws4_request", head.decode()
    )
