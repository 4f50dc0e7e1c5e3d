"""A function's aliases: what its context says, who may call it by one, and what becomes of events that fail.

On AWS, each of these depends on the qualifier with which a function is called.
"""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from local.aws_clients import Aws
from local.engine.program import Registration
from local.operator_commands import OPENER
from local.resources.lambda_ import ARCHIVES, SOON
from tests.local.callers import allowing, user
from tests.local.machine import HANGING
from tests.local.registrations import HOME, alias, function, retries, role, up

pytestmark = pytest.mark.long

SAYS_ITS_ARN = """
import json, os
def handler(event, context):
    if "CALLS" in os.environ:
        with open(os.environ["CALLS"], "a") as calls:
            calls.write(context.invoked_function_arn + "\\n")
    if "fail" in event:
        raise RuntimeError("as asked")
    return {"statusCode": 200, "body": json.dumps({"arn": context.invoked_function_arn})}
"""


def arn(name: str, qualifier: str = "") -> str:
    return f"arn:aws:lambda:{HOME}:000000000000:function:{name}" + (f":{qualifier}" if qualifier else "")


def published(name: str, calls: Path) -> list[Registration]:
    """Return a function, and its alias to a published version. The function writes down as what it is called."""
    made = function(name, SAYS_ITS_ARN, {"CALLS": str(calls)}, publish=True)
    return [role(name), made, alias(name, functionVersion="1")]


def called_as(aws: Aws, name: str, **qualifier: str) -> str:
    """Return the ARN that a function sees when it is called in this way."""
    response = aws.client("lambda", HOME).invoke(**{"FunctionName": name, "Payload": b"{}", **qualifier})  # pyright: ignore[reportArgumentType]
    return json.loads(json.load(response["Payload"])["body"])["arn"]


def test_no_alias_is_named_like_a_version(aws: Aws, name: str, tmp_path: Path) -> None:
    client = aws.client("lambda", HOME)
    up(aws, *published(name, tmp_path / "calls"))

    with pytest.raises(client.exceptions.ClientError, match="ValidationException"):
        client.create_alias(FunctionName=name, Name="2024", FunctionVersion="1")
    assert client.create_alias(FunctionName=name, Name="v2024", FunctionVersion="1")["FunctionVersion"] == "1"


def permit(aws: Aws, name: str, qualifier: str, action: str, principal: str, **more: Any) -> None:
    """Add a statement to the policy of a function's qualifier."""
    own: Any = {"Qualifier": qualifier} if qualifier else {}
    statement = {"StatementId": f"call{qualifier}", "Action": action, "Principal": principal, **more}
    aws.client("lambda", HOME).add_permission(FunctionName=name, **statement, **own)  # pyright: ignore[reportArgumentType]


def lines(path: Path, count: int) -> list[str]:
    """Wait until a file has so many lines, and return them."""
    ends = time.monotonic() + HANGING
    while not path.exists() or len(path.read_text().splitlines()) < count:
        assert time.monotonic() < ends
        time.sleep(0.05)
    return path.read_text().splitlines()


@pytest.mark.parametrize("qualifier", ["", "minting", "1"])
def test_a_function_sees_which_name_a_rule_calls(aws: Aws, name: str, folder: Path, qualifier: str) -> None:
    calls = folder / "calls"
    up(aws, *published(name, calls))
    events = aws.client("events", HOME)
    events.put_rule(Name=name, EventPattern=json.dumps({"source": [name]}))
    events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn(name, qualifier)}])
    permit(aws, name, qualifier, "lambda:InvokeFunction", "events.amazonaws.com")

    events.put_events(Entries=[{"Source": name, "DetailType": "test", "Detail": "{}"}])

    assert lines(calls, 1) == [arn(name, qualifier)]
    other: Any = {} if qualifier else {"Qualifier": "minting"}
    events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn(name, other.get("Qualifier", ""))}])
    events.put_events(Entries=[{"Source": name, "DetailType": "test", "Detail": "{}"}])
    called_as(aws, name, Qualifier="1")
    assert lines(calls, 2) == [arn(name, qualifier), arn(name, "1")], "a rule calls nothing without a permission for it"
    events.remove_targets(Rule=name, Ids=["1"])
    events.delete_rule(Name=name)


@pytest.mark.parametrize("qualifier", ["", "minting"])
def test_a_function_sees_which_name_a_url_calls(aws: Aws, name: str, folder: Path, qualifier: str) -> None:
    up(aws, *published(name, folder / "calls"))
    own: Any = {"Qualifier": qualifier} if qualifier else {}
    client = aws.client("lambda", HOME)
    found = client.create_function_url_config(FunctionName=name, AuthType="NONE", **own)["FunctionUrl"]
    url = f"{aws.endpoint}/_aws/lambda-url/{found.split('://')[1].split('.')[0]}/"

    permit(aws, name, qualifier, "lambda:InvokeFunctionUrl", "*", FunctionUrlAuthType="NONE")
    assert "Forbidden" in (forbidden(url) or ""), "Lambda asks for both actions"
    permit(aws, name, qualifier, "lambda:InvokeFunction", "*", StatementId="invoke", InvokedViaFunctionUrl=True)
    with OPENER.open(urllib.request.Request(url), timeout=HANGING) as response:
        assert json.load(response)["arn"] == arn(name, qualifier)
    if qualifier:
        client.delete_alias(FunctionName=name, Name=qualifier)
        assert forbidden(url) is None, "its URL goes with an alias"
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            client.get_function_url_config(FunctionName=name, **own)
        client.create_alias(FunctionName=name, Name=qualifier, FunctionVersion="1")
        assert client.create_function_url_config(FunctionName=name, AuthType="NONE", **own)["FunctionUrl"] != found


def forbidden(url: str) -> str | None:
    """Return the message to a caller who may not use a URL; None: it leads nowhere."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        OPENER.open(url, timeout=HANGING)
    with refused.value as answer:
        assert answer.status == 403
        return json.load(answer)["Message"]


def test_a_url_that_leads_nowhere_is_forbidden(aws: Aws) -> None:
    assert forbidden(f"{aws.endpoint}/_aws/lambda-url/0123456789abcdefghijklmnopqrstuv/") is None


@pytest.mark.parametrize("qualifier", ["", "minting"])
def test_a_statement_changes_the_revision(aws: Aws, name: str, folder: Path, qualifier: str) -> None:
    up(aws, *published(name, folder / "calls"))
    client: Any = aws.client("lambda", HOME)

    def revision() -> str:
        if qualifier:
            return client.get_alias(FunctionName=name, Name=qualifier)["RevisionId"]
        return client.get_function_configuration(FunctionName=name)["RevisionId"]

    before = revision()
    for principal in ("invalid.nonaws.com", "arn:aws:iam::12:root"):
        with pytest.raises(client.exceptions.InvalidParameterValueException):
            permit(aws, name, qualifier, "lambda:InvokeFunction", principal)
    assert revision() == before
    permit(aws, name, qualifier, "lambda:InvokeFunction", "arn:aws:iam::123456789012:root")
    assert revision() != before
    assert client.publish_version(FunctionName=name)["Version"] == "1", "that is no change of the function"
    if qualifier:
        with pytest.raises(client.exceptions.PreconditionFailedException):
            client.update_alias(FunctionName=name, Name=qualifier, RevisionId=before)


def test_a_function_is_changed_once_at_a_time(aws: Aws, name: str) -> None:
    up(aws, role(name), function(name, SAYS_ITS_ARN, {}))
    client: Any = aws.client("lambda", HOME)
    client.update_function_configuration(FunctionName=name, Description="1")
    with pytest.raises(client.exceptions.ResourceConflictException, match="An update is in progress"):
        client.update_function_configuration(FunctionName=name, Description="2")
    client.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig=SOON)
    client.update_function_configuration(FunctionName=name, Description="2")

    code = {"ZipFile": ARCHIVES[function(name, SAYS_ITS_ARN, {}).inputs["code"]]}
    role_arn = f"arn:aws:iam::000000000000:role/{name}"
    made: Any = {"Runtime": "python3.14", "Handler": "answer.handler", "Role": role_arn}
    client.create_function(FunctionName=f"{name}-new", Code=code, **made)
    with pytest.raises(client.exceptions.ResourceConflictException, match="Pending"):
        client.invoke(FunctionName=f"{name}-new", Payload=b"{}")
    client.get_waiter("function_active_v2").wait(FunctionName=f"{name}-new", WaiterConfig=SOON)
    client.invoke(FunctionName=f"{name}-new", Payload=b"{}")
    client.delete_function(FunctionName=f"{name}-new")


def test_an_api_calls_an_alias_that_permits_it(aws: Aws, name: str, folder: Path) -> None:
    up(aws, *published(name, folder / "calls"))
    apis: Any = aws.client("apigatewayv2", HOME)
    api = apis.create_api(Name=name, ProtocolType="HTTP")["ApiId"]
    uri = f"arn:aws:apigateway:{HOME}:lambda:path/2015-03-31/functions/{arn(name, 'minting')}/invocations"
    to = apis.create_integration(ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=uri, PayloadFormatVersion="2.0")
    apis.create_route(ApiId=api, RouteKey="$default", Target=f"integrations/{to['IntegrationId']}")
    apis.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    url = f"{aws.endpoint}/_aws/execute-api/{api}/$default/"

    permit(aws, name, "", "lambda:InvokeFunction", "apigateway.amazonaws.com")
    with pytest.raises(urllib.error.HTTPError) as refused:
        OPENER.open(url, timeout=HANGING)
    assert refused.value.code >= 500
    refused.value.close()
    permit(aws, name, "minting", "lambda:InvokeFunction", "apigateway.amazonaws.com")
    with OPENER.open(url, timeout=HANGING) as response:
        assert json.load(response)["arn"] == arn(name, "minting")
    apis.delete_api(ApiId=api)


def test_an_alias_retries_by_its_own_settings(aws: Aws, name: str, folder: Path) -> None:
    """Those of the function don't hold for it."""
    calls = folder / "calls"
    parts = [*published(name, calls), alias(name, "retried", functionVersion="1")]
    up(aws, *parts, retries(name, 0), retries(name, 1, "retried"), retries(name, 0, "minting"))
    client = aws.client("lambda", HOME)
    for qualifier in ("minting", "retried"):
        client.invoke(FunctionName=arn(name, qualifier), InvocationType="Event", Payload=b'{"fail": 1}')

    assert sorted(lines(calls, 3)) == sorted([arn(name, "minting"), *[arn(name, "retried")] * 2])


@pytest.mark.parametrize("allowed", ["", "minting"])
def test_a_policy_holds_for_the_name_that_is_called(aws: Aws, name: str, allowed: str) -> None:
    up(aws, role(name), function(name, SAYS_ITS_ARN, {}), alias(name))
    client = as_user(aws, "lambda:InvokeFunction", arn(name, allowed))
    calls: list[tuple[str, dict[str, str]]] = [
        ("", {"FunctionName": name}),
        ("", {"FunctionName": arn(name)}),
        ("minting", {"FunctionName": arn(name, "minting")}),
        ("minting", {"FunctionName": f"{name}:minting"}),
        ("minting", {"FunctionName": name, "Qualifier": "minting"}),
        ("minting", {"FunctionName": arn(name), "Qualifier": "minting"}),
    ]
    for kind in ("RequestResponse", "Event"):
        for qualifier, target in calls:
            if qualifier == allowed:
                assert client.invoke(**target, InvocationType=kind)["StatusCode"] in (200, 202)
            else:
                with pytest.raises(client.exceptions.ClientError, match="AccessDenied"):
                    client.invoke(**target, InvocationType=kind)


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("get_alias", {"Name": "minting"}),
        ("update_alias", {"Name": "minting", "Description": "new"}),
        ("delete_alias", {"Name": "minting"}),
        ("list_aliases", {}),
        ("create_alias", {"Name": "another", "FunctionVersion": "$LATEST"}),
    ],
)
def test_each_call_about_aliases_is_an_action_of_its_own(
    aws: Aws, name: str, operation: str, more: dict[str, str]
) -> None:
    action = f"lambda:{operation.title().replace('_', '')}"
    up(aws, role(name), function(name, SAYS_ITS_ARN, {}), alias(name))
    may, may_not = (as_user(aws, each, arn(name)) for each in (action, "lambda:PublishVersion"))

    with pytest.raises(may_not.exceptions.ClientError, match=f"{action} "):
        getattr(may_not, operation)(FunctionName=name, **more)
    getattr(may, operation)(FunctionName=name, **more)


def as_user(aws: Aws, action: str, resource: str) -> Any:
    """Return the Lambda client of a new user who may only do this."""
    keys = user(aws, allowing(action, resource))
    return Aws(aws.endpoint, (keys.access_key, keys.secret_key)).client("lambda", HOME)
