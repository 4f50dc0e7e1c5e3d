"""Aliases, their URLs and policies: what a change takes with it, who sees it when, and what is refused meanwhile.

- A moved alias leads to the version before for some seconds, and a new one to none (recorded from AWS in LocalStack's
  `test_lambda_alias_moving`). The environment variable `ALIAS_LAG` is for how many; by default, for none.
- A deleted alias takes its policy and its URL with it (`test_lambda_url_persists_after_alias_delete`). The next URL is
  another one.
- A URL that leads nowhere is forbidden (`test_lambda_url_non_existing_url`), and so is a public one whose
  policy doesn't allow everybody both actions (Lambda guide, "Control access to Lambda function URLs").
- A statement changes the revision of its alias or function (`test_function_revisions_permissions`), and its principal
  must exist (`test_permission_exceptions`).
- A function that is being created can't be called yet, nor one that is being updated be changed (Lambda guide, "Lambda
  function states").
"""

import os
import re
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from . import replaces
from .versions import LAMBDA, NUMBERS, Response, place, whole

BEFORE: dict[str, tuple[float, str | None]] = {}
"""ARN of an alias → until when (`monotonic`) callers reach the version before, and that; None: there was no alias."""

NEEDED = {"NONE": {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}, "AWS_IAM": set[str]()}
"""`AuthType` of a URL → the actions that its policy must allow everybody."""

PRINCIPAL = re.compile(r"\*|\d{12}|[a-z0-9.-]+\.amazonaws\.com(\.cn)?|arn:aws[a-z-]*:iam::\d{12}:(root|(role|user)/.+)")


def _before(arn: str) -> tuple[bool, str | None]:
    """Return whether callers don't see this alias yet as it is, and which version they reach."""
    ends, version = BEFORE.get(arn, (0.0, None))
    return monotonic() < ends, version


def _busy(why: str) -> Response:
    return LAMBDA.error_response_json("ResourceConflictException", why, 409)


@replaces(LAMBDA, "_create_alias", 'func["aliases"][alias_name] = alias')
@replaces(LAMBDA, "_update_alias", 'alias["RevisionId"] = new_uuid()')
def seen_later(change: Callable[..., Response], name: str, *rest: Any) -> Response:
    """Note since when an alias leads elsewhere."""
    alias = rest[-1].get("Name") or rest[0]
    before = LAMBDA._functions.get(name, {}).get("aliases", {}).get(alias, {}).get("FunctionVersion")
    response = change(name, *rest)
    if response[0] < 300 and before != rest[-1].get("FunctionVersion", before):
        BEFORE[f"{LAMBDA._func_arn(name)}:{alias}"] = monotonic() + float(os.environ.get("ALIAS_LAG", "0")), before
    return response


@replaces(LAMBDA, "_execute_function_warm", "worker, reason = acquire_worker(")
def of_version_before(execute: Callable[..., Any], function: Any, *arguments: Any) -> Any:
    """Run the version that callers of an alias still reach."""
    lags, version = _before(arn := function["config"]["FunctionArn"])
    if lags and version:
        former = (whole(function["config"]) or {})["versions"].get(version, function)
        function = {**former, "config": {**former["config"], "FunctionArn": arn}}
    return execute(function, *arguments)


@replaces(LAMBDA, "_invoke", 'executed_version = "$LATEST"')
async def once_ready(invoke: Callable[..., Awaitable[Response]], name: str, *rest: Any) -> Response:
    """Refuse to invoke a function that is being created, or by an alias that isn't known yet."""
    qualifier = LAMBDA._qualifier_from_path_or_query(*rest[2:])
    if _before(f"{LAMBDA._func_arn(name)}:{qualifier}") == (True, None):
        return LAMBDA._function_qualifier_not_found(name, qualifier)
    if LAMBDA._functions.get(name, {}).get("config", {}).get("StateReasonCode") == "Creating":
        return _busy("The function is currently in the following state: Pending")
    return await invoke(name, *rest)


@replaces(LAMBDA, "_update_code", 'func["config"]["LastUpdateStatus"] = "InProgress"')
@replaces(LAMBDA, "_update_config", 'config["LastUpdateStatus"] = "InProgress"')
def one_at_a_time(change: Callable[..., Response], name: str, data: Any) -> Response:
    """Refuse to change a function while it is being changed."""
    if LAMBDA._functions.get(name, {}).get("config", {}).get("LastUpdateStatus") == "InProgress":
        return _busy(f"An update is in progress for resource: {LAMBDA._func_arn(name)}")
    return change(name, data)


@replaces(LAMBDA, "_delete_alias", 'del _functions[func_name]["aliases"][alias_name]')
def with_policy_and_url(delete: Callable[..., Response], name: str, alias: str) -> Response:
    """Delete an alias's policy and URL with it. Where there was a URL, the next one is another."""
    response, key = delete(name, alias), LAMBDA._url_config_key(name, alias)
    if response[0] == 204:
        policy = LAMBDA._functions[name]["policy"]
        policy["Statement"] = [one for one in policy["Statement"] if one["Resource"].split(":")[7:] != [alias]]
        if LAMBDA._function_urls.pop(key, None):
            NUMBERS[place(key)] = NUMBERS.get(place(key), 0) + 1
    return response


@replaces(LAMBDA, "handle_function_url_request", 'return error_response_json("ResourceNotFoundException", "Not Found"')
async def if_it_leads_on(handle: Callable[..., Awaitable[Response]], *request: Any, resolved: Any, **more: Any) -> Any:
    """Forbid a URL that leads nowhere, and a public one without both statements."""
    if resolved is None:
        return LAMBDA.json_response({"Message": None}, 403)
    account, region, name, qualifier, configuration = resolved
    arn = ":".join(filter(None, [f"arn:aws:lambda:{region}:{account}:function:{name}", qualifier]))
    statements = LAMBDA._functions.get_scoped(account, region, name)["policy"]["Statement"]
    public = {one["Action"] for one in statements if one["Resource"] == arn and one["Principal"] == "*"}
    if _before(arn) == (True, None) or not NEEDED[configuration["AuthType"]] <= public:
        return LAMBDA.json_response({"Message": "Forbidden. For troubleshooting, see Lambda's guide."}, 403)
    return await handle(*request, resolved=resolved, **more)


@replaces(LAMBDA, "_add_permission", 'principal = {"AWS": principal_raw}')
@replaces(LAMBDA, "_remove_permission", 'for s in func["policy"]["Statement"]')
def with_new_revision(change: Callable[..., Response], name: str, what: Any, *called: Any) -> Response:
    """Change the revision of the alias or function with its policy. `what` is the statement, or the id of one."""
    if not isinstance(what, str) and not PRINCIPAL.fullmatch(what["Principal"]):
        return LAMBDA.error_response_json("InvalidParameterValueException", "The provided principal was invalid.", 400)
    response = change(name, what, *called)
    if response[0] < 300:
        function, qualifier = LAMBDA._functions[name], LAMBDA._qualifier_from_path_or_query(*reversed(called))
        changed = function["aliases"].get(qualifier, function["config"])
        before, changed["RevisionId"] = changed["RevisionId"], LAMBDA.new_uuid()
        for version in function["versions"].values():  # there is still nothing to publish
            if version["function_revision"] == before:
                version["function_revision"] = changed["RevisionId"]
    return response
