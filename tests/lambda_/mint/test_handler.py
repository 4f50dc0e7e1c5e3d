"""Every event that Lambda can deliver gets a well-formed response, never an error of the function."""

import json
import logging
from contextlib import suppress
from typing import Any

import mint.handler
import mint.minting
import pytest
from aws_client.service import ATTEMPTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mint.api.request import Problem, received

from tests.lambda_.aws_client.faults import whole
from tests.lambda_.coordinator_calls import AS_DEPLOYED, deploy
from tests.lambda_.fixtures import Ask, Stack

STATUSES = {200, 400, 403, 404, 405, 413, 414, 422}
PATHS = ["/", "/integers", "/-/health", "/-/counters", "/integers/1001", "/../", "/a%2Fb", "//"]

text = st.text(max_size=80)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
name = st.sampled_from(["accept", "idempotency-key", "Accept", "x", "host"]) | text
method = st.sampled_from(["GET", "POST", "PUT", "HEAD"]) | text
usual: dict[str, st.SearchStrategy[Any]] = {
    "requestContext": st.fixed_dictionaries({"http": st.fixed_dictionaries({"method": method})}),
    "rawPath": st.sampled_from(PATHS) | text.map("/{}".format) | text,
    "headers": st.dictionaries(name, text | st.just("text/html,*/*;q=0.8"), max_size=6),
    "rawQueryString": text | st.builds("count={}".format, st.integers() | text),
    "body": text | st.just("x" * 100_000),
    "isBase64Encoded": st.booleans(),
}
event = st.fixed_dictionaries(usual) | st.fixed_dictionaries({}, optional=dict.fromkeys(usual, anything))


ELB = {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/a/1"}}
LATTICE = {"serviceNetworkArn": "arn:aws:vpc-lattice:us-east-1:123456789012:servicenetwork/sn-1"}
POSTED: dict[str, Any] = {"httpMethod": "POST", "path": "/orders", "headers": {"idempotency-key": "cart-1"}, "body": ""}
AUTHORIZER = {"version": "2.0", "type": "REQUEST", "routeArn": "a", "requestContext": {"http": {"method": "GET"}}}
FOREIGN: list[tuple[Any, str]] = [
    (POSTED | {"requestContext": ELB, "queryStringParameters": {"count": "5"}}, "an Application Load Balancer"),
    (POSTED | {"requestContext": ELB, "multiValueHeaders": {}}, "an Application Load Balancer"),
    ({"version": "2.0", "path": "/", "method": "GET", "headers": {}, "requestContext": LATTICE}, "VPC Lattice"),
    ({"raw_path": "/", "method": "GET", "headers": {}, "body": "", "is_base64_encoded": False}, "VPC Lattice"),
    ({"requestContext": {"connectionId": "a", "apiId": "b", "routeKey": "$default"}, "body": "{}"}, "a WebSocket API"),
    (AUTHORIZER, "API Gateway, which asks for authorization"),
    (POSTED | {"methodArn": "a", "requestContext": {"apiId": "a"}}, "API Gateway, which asks for authorization"),
    ({"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}}, "EventBridge"),
    ({"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}, "a queue, a topic, a stream, a bucket or CloudFront"),
    (POSTED, "something else"),
    *((json.loads(event), "something else") for event in ("{}", "[]", "null", "7", '"GET /"')),
]


@pytest.mark.parametrize(("event", "source"), FOREIGN)
def test_an_event_of_another_service_mints_nothing(stack: Stack, event: Any, source: str) -> None:
    stack.monkeypatch.setattr(mint.minting, "mint", None)
    response = mint.handler.handler(event, None)

    assert response["statusCode"] == 400
    assert json.loads(response["body"])["detail"].endswith(f", but of {source}; nothing is minted")


@pytest.fixture
def _laid_out(stack: Stack) -> None:
    deploy(counters=AS_DEPLOYED)


def is_ours(event: dict[str, Any]) -> bool:
    """Return whether it is a Function URL's event."""
    with suppress(Problem):
        return bool(received(event))
    return False


@pytest.mark.usefixtures("_laid_out")
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event)
def test_every_event_gets_a_well_formed_response(event: dict[str, Any]) -> None:
    response = mint.handler.handler(event, None)

    assert response["statusCode"] in STATUSES
    assert all(isinstance(name, str) and isinstance(value, str) for name, value in response["headers"].items())
    assert all(value.isprintable() for value in response["headers"].values())
    json.dumps(response).encode()
    method = is_ours(event) and event["requestContext"]["http"]["method"]
    if method == "HEAD":
        assert response["body"] == ""
    elif response["headers"]["Content-Type"].startswith("text/html"):
        assert method == "GET"
        assert response["body"].endswith("</html>\n")
    elif response["statusCode"] == 200:
        assert response["body"]
    else:
        document = json.loads(response["body"])
        assert response["headers"]["Content-Type"] == "application/problem+json"
        assert document["status"] == response["statusCode"]
        assert len(document["detail"]) < 300


def test_minting_logs_nothing_that_lambda_would_keep(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    deploy()
    with caplog.at_level(logging.INFO):
        assert [ask("POST", path)["statusCode"] for path in ("/", "/?count=3")] == [200, 200]

    assert caplog.records == []


DISABLED = "KMS key disabled error: a is disabled."


@pytest.mark.parametrize(
    ("code", "message", "path", "status", "retry", "level", "calls"),
    [
        ("AccessDeniedException", "no", "/", 503, "5", "ERROR", ["updateitem"] * 2),
        ("ExpiredTokenException", "no", "/?count=2", 503, "5", "ERROR", ["updateitem"] * 2),
        ("InvalidSignatureException", "no", "/integers/1", 503, "5", "ERROR", ["getitem"] * 2),
        ("UnrecognizedClientException", "no", "/-/health", 503, "5", "ERROR", ["getitem"] * 2),
        ("ValidationException", "no", "/", 500, None, "ERROR", ["updateitem", "getitem"]),  # the function's own fault
        ("ValidationException", DISABLED, "/", 503, "1", "WARNING", ["updateitem"] * ATTEMPTS),
    ],
)
def test_what_the_table_refuses_is_logged_and_not_shown(
    ask: Ask, stack: Stack, caplog: pytest.LogCaptureFixture,
    code: str, message: str, path: str, status: int, retry: str | None, level: str, calls: list[str],
) -> None:  # fmt: skip
    found: list[str] = []

    def refuse(_region: str, operation: str, _request: Any) -> bytes:
        found.append(operation)
        return whole({"__type": f"com.amazon.coral.service#{code}", "message": message}, 400)

    stack.monkeypatch.setattr(stack.aws, "answer", refuse)

    response = ask("GET", path)
    assert (response["statusCode"], response["headers"].get("Retry-After"), found) == (status, retry, calls)
    assert [record.levelname for record in caplog.records] == [level]
    assert code in caplog.text
    assert code not in response["body"]
    assert ("request-1" in caplog.text and "Traceback" in caplog.text) == (status == 500)


def test_snapstart_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")

    with pytest.raises(RuntimeError, match="SnapStart is not supported"):
        mint.minting.prepare()
