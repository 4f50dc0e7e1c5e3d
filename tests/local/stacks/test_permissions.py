"""The setting `callers` with identities that a server tells the deployed function: a user's, and a role's session.

This server's Function URLs don't say who signed. Its HTTP APIs do, in the same payload format (2.0).
"""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from global_integers_core.names import LIVE_ALIAS
from local.aws_clients import Aws
from local.engine import deploy
from local.server import aws_server
from tests.local.machine import HANGING, OPENER

pytestmark = pytest.mark.server

REGION = "eu-west-1"
FUNCTION = "global-integers-test-mint"
ALLOWED = [{"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*"}]
POLICY = json.dumps({"Version": "2012-10-17", "Statement": ALLOWED})
CALLERS = {"arn:aws:iam::000000000000:role/teams/shop": ["orders"], "arn:aws:iam::000000000000:user/alice": ["tickets"]}

Ask = Callable[[Credentials, str], tuple[int, Any]]


@pytest.fixture
def endpoint(folder: Path) -> Generator[str]:
    """A server with HTTP APIs, to which a stack with callers is deployed."""
    services = "apigateway,budgets,cloudwatch,dynamodb,events,iam,lambda,logs,sns,sqs,sts"
    endpoint = aws_server.start(0, {"SERVICES": services}).endpoint
    try:
        settings = {"regions": [REGION], "counters": ["orders", "tickets"], "callers": CALLERS, "protect": False}
        config = {"aws:region": REGION} | {
            f"global-integers:{key}": json.dumps(value) for key, value in settings.items()
        }
        deploy("global-integers", "test", config, Aws(endpoint), lambda *_: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        yield endpoint
    finally:
        aws_server.SERVICE.stop()


@pytest.fixture
def ask(endpoint: str) -> Ask:
    """`ask(credentials, "orders")`: a signed request to the function through an HTTP API."""
    gateways = client(endpoint, "apigatewayv2")
    functions = Aws(endpoint).client("lambda", REGION)
    arn = functions.get_alias(FunctionName=FUNCTION, Name=LIVE_ALIAS)["AliasArn"]
    api = gateways.create_api(Name="api", ProtocolType="HTTP")["ApiId"]
    integration = gateways.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=arn, PayloadFormatVersion="2.0"
    )["IntegrationId"]
    functions.add_permission(
        FunctionName=FUNCTION,
        Qualifier=LIVE_ALIAS,
        StatementId=api,
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
    )
    gateways.create_route(
        ApiId=api, RouteKey="$default", AuthorizationType="AWS_IAM", Target=f"integrations/{integration}"
    )
    gateways.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)

    def ask(credentials: Credentials, path: str) -> tuple[int, Any]:
        url = f"{endpoint}/_aws/execute-api/{api}/{path}"
        request = AWSRequest(method="POST", url=url)
        signer: Any = SigV4Auth(credentials, "execute-api", REGION)
        signer.add_auth(request)
        headers: dict[str, str] = dict(cast("Any", request.headers))
        try:
            with OPENER.open(urllib.request.Request(url, method="POST", headers=headers), timeout=HANGING) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    return ask


def client(endpoint: str, service: str) -> Any:
    session = boto3.Session("test", "test", region_name=REGION)
    return cast("Any", session.client)(service, endpoint_url=endpoint)


def user(endpoint: str, name: str) -> Credentials:
    iam = client(endpoint, "iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="call", PolicyDocument=POLICY)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


def session_of(endpoint: str, role: str, path: str) -> Credentials:
    iam = client(endpoint, "iam")
    anyone = {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [anyone]})
    arn = iam.create_role(RoleName=role, Path=path, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName=role, PolicyName="call", PolicyDocument=POLICY)
    keys = client(endpoint, "sts").assume_role(RoleArn=arn, RoleSessionName="i-0abc")["Credentials"]
    return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])


def test_each_signer_uses_its_own_counters(endpoint: str, ask: Ask) -> None:
    shop, alice = session_of(endpoint, "shop", "/teams/"), user(endpoint, "alice")
    bob = user(endpoint, "bob")

    assert ask(shop, "orders")[1]["integer"] == 1
    assert ask(alice, "tickets")[1]["integer"] == 1
    for caller, counter in ((shop, "tickets"), (alice, "orders"), (bob, "orders"), (bob, "tickets")):
        status, problem = ask(caller, counter)
        assert (status, problem["title"]) == (403, "Forbidden")
        assert "setting callers" in problem["detail"]
    assert ask(shop, "orders")[1]["integer"] == 2
    assert "assumed-role/shop/i-0abc" in ask(shop, "tickets")[1]["detail"]
