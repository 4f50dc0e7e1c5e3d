"""A signed request is the same for a second, and made anew after it."""

import pytest
from aws_client.signed_request import Credentials, Endpoint, signed

from tests.lambda_.aws_client.faults import GOOD, answering, dynamodb_at

ENDPOINT = Endpoint(secure=True, host="dynamodb.eu-west-1.amazonaws.com", port=443, path="/below")
KEY = Credentials("AKID", "secret", "token")


def post(*, body: bytes = b"{}", key: Credentials = KEY, second: int = 1_600_000_000) -> bytes:
    return signed("POST", ENDPOINT, "/x", (("X-Amz-Target", "T"),), body, key, "eu-west-1", "dynamodb", second)


def test_it_is_one_request_with_its_body() -> None:
    head, _, body = post().partition(b"\r\n\r\n")
    first, *headers = head.split(b"\r\n")

    assert (first, body) == (b"POST /below/x HTTP/1.1", b"{}")
    assert b"Host: dynamodb.eu-west-1.amazonaws.com" in headers


def test_another_body_key_or_second_is_another_request() -> None:
    renewed = Credentials("AKID", "secret", "renewed")
    made = {post(), post(body=b"[]"), post(key=renewed), post(second=1_600_000_001)}

    assert len(made) == 4
    assert post() is post()


@pytest.mark.usefixtures("quick")
def test_renewed_credentials_and_a_later_second_are_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(GOOD) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        for at, token in ((1.0, "a"), (1.9, "a"), (2.0, "a"), (2.0, "b")):
            monkeypatch.setattr("aws_client.service.time.time", lambda at=at: at)
            monkeypatch.setenv("AWS_SESSION_TOKEN", token)
            dynamodb.call("UpdateItem", {})
        dynamodb.close()

    first, same, later, renewed = (request.raw for request in server.requests)
    assert first == same
    assert len({first, later, renewed}) == 3
