"""Who may call a function, and as what it is called: with the qualifier, be it a version's number or an alias.

- A function that EventBridge or a Function URL calls by an alias sees the alias in its context's ARN (Lambda guide,
  "Using the Lambda context object", `invoked_function_arn`).
- An asynchronous event that an alias gets is retried by the alias's own settings, by default twice (Lambda guide,
  "Configuring error handling settings for Lambda asynchronous invocations").
- A policy is compared with the function's ARN as it is called: with its qualifier, however that is sent (Lambda guide,
  "Fine-tuning the Resources and Conditions sections of policies").
- A call about one alias is an action of its own: GetAlias, UpdateAlias, DeleteAlias.
- Neither a rule nor an API calls what it has no permission for. A permission of the function isn't one of its alias
  (Lambda guide, "Using Lambda aliases in event sources and permissions policies"; EventBridge guide, "Using
  resource-based policies for Amazon EventBridge").
"""

from collections.abc import Callable, Mapping
from typing import Any

from . import ministack, replaces
from .versions import LAMBDA, whole

ACTIONS = {"GET": "GetAlias", "PUT": "UpdateAlias", "DELETE": "DeleteAlias"}
"""Method → action of a call about one alias."""

IAM = ministack("core.iam_actions")

Found = tuple[dict[str, Any] | None, dict[str, Any] | None, str]
"""A function's record, its configuration, and its name."""


@replaces(LAMBDA, "_get_func_record_for_ref", "_effective_func_record_for_qualifier(func, qualifier)")
def with_qualified_arn(find: Callable[[str], Found], reference: str) -> Found:
    """Return a function with the ARN by which it is called."""
    record, configuration, name = find(reference)
    _, qualifier = LAMBDA._resolve_name_and_qualifier(reference)
    if configuration is not None and qualifier:
        arn = ":".join(configuration["FunctionArn"].split(":")[:7])
        configuration = {**configuration, "FunctionArn": f"{arn}:{qualifier}"}
    return record, configuration, name


@replaces(LAMBDA, "invoke_async_with_retry", 'func.get("event_invoke_config")')
def with_own_retries(invoke: Callable[..., None], function: Mapping[str, Any], event: Any) -> None:
    """Retry by the settings of the qualifier. A version's record has none."""
    qualifier = ":".join(function["config"]["FunctionArn"].split(":")[7:])
    if qualifier:
        own = (whole(function["config"]) or {}).get("event_invoke_configs", {}).get(qualifier)
        function = {**function, "event_invoke_config": own, "event_invoke_configs": {}}
    invoke(function, event)


def _permits(arn: str, service: str) -> bool:
    """Return whether a service may call a function by this ARN. Conditions on the caller's own ARN aren't compared."""
    function, _, _ = LAMBDA._get_base_func_record_for_ref(arn)
    statements: list[dict[str, Any]] = function["policy"]["Statement"] if function else []
    return any(one["Resource"] == arn and one["Principal"] == {"Service": service} for one in statements)


@replaces(ministack("services.eventbridge"), "_dispatch_to_lambda", "lambda_svc._get_func_record_for_ref(arn)")
def if_rules_may(dispatch: Callable[..., None], arn: str, payload: Any) -> None:
    """Let a rule call only what permits it."""
    if _permits(arn, "events.amazonaws.com"):
        dispatch(arn, payload)


@replaces(LAMBDA, "_get_func_record_for_ref_in_scope", "return _get_func_record_for_ref(function_ref)")
def if_apis_may(find: Callable[..., Found], reference: str, **scope: Any) -> Found:
    """Let an API, which calls by an ARN, call only what permits it. A Function URL calls by a name."""
    record, configuration, name = find(reference, **scope)
    if reference.startswith("arn:") and not _permits(reference, "apigateway.amazonaws.com"):
        return None, None, name
    return record, configuration, name


@replaces(IAM, "extract_resource_arn", 'return f"arn:aws:lambda:{region}:{account_id}:function:{func_name}"')
def with_qualifier(extract: Callable[..., str], service: str, method: str, path: str, *rest: Any) -> str:
    """Return the ARN of what is called, with the qualifier."""
    arn: str = extract(service, method, path, *rest)
    if service == "lambda" and path.endswith("/invocations"):
        sent: str | list[str] = rest[2].get("Qualifier", "")  # after the headers and the body
        qualifier = "".join(sent[:1]) if isinstance(sent, list) else sent
        if qualifier and len(arn.split(":")) == 7:
            return f"{arn}:{qualifier}"
    return arn


@replaces(IAM, "_lambda_action", '"aliases": "CreateAlias" if method == "POST" else "ListAliases",')
def of_one_alias(action: Callable[..., str | None], method: str, path: str) -> str | None:
    """Return the action of a call about one alias."""
    parts = path.rstrip("/").split("/")
    return ACTIONS[method] if parts[-2:-1] == ["aliases"] and method in ACTIONS else action(method, path)
