"""Makes ministack treat a function's aliases as Lambda does, where ministack is more permissive, or ignores the alias.

- A function that EventBridge or a Function URL calls by an alias sees the alias in its context's ARN (Lambda guide,
  "Using the Lambda context object", `invoked_function_arn`).
- An asynchronous event that an alias gets is retried by the alias's own settings, by default twice (Lambda guide,
  "Configuring error handling settings for Lambda asynchronous invocations").
- A policy is compared with the function's ARN as it is called: with its qualifier, however that is sent (Lambda guide,
  "Fine-tuning the Resources and Conditions sections of policies").
- A call about one alias is an action of its own: GetAlias, UpdateAlias, DeleteAlias.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ministack.core import iam_actions  # pyright: ignore[reportMissingTypeStubs]
from ministack.services import lambda_svc  # pyright: ignore[reportMissingTypeStubs]

ACTIONS = {"GET": "GetAlias", "PUT": "UpdateAlias", "DELETE": "DeleteAlias"}
"""Method → action of a call about one alias."""

Found = tuple[dict[str, Any] | None, dict[str, Any] | None, str]
"""A function's record, its configuration, and its name."""


def apply() -> None:
    """Change the modules of ministack in this process."""
    functions: Any = lambda_svc
    actions: Any = iam_actions
    functions._get_func_record_for_ref = _with_qualified_arn(functions)
    functions.invoke_async_with_retry = _with_own_retries(functions.invoke_async_with_retry)
    actions.extract_resource_arn = _with_qualifier(actions.extract_resource_arn)
    actions._lambda_action = _of_one_alias(actions._lambda_action)


def _with_qualified_arn(functions: Any) -> Callable[[str], Found]:
    find: Callable[[str], Found] = functions._get_func_record_for_ref

    @wraps(find)
    def found(reference: str) -> Found:
        record, configuration, name = find(reference)
        _, qualifier = functions._resolve_name_and_qualifier(reference)
        if configuration is not None and qualifier:
            arn = ":".join(configuration["FunctionArn"].split(":")[:7])
            configuration = {**configuration, "FunctionArn": f"{arn}:{qualifier}"}
        return record, configuration, name

    return found


def _with_own_retries(invoke: Callable[[Mapping[str, Any], Any], None]) -> Callable[[Mapping[str, Any], Any], None]:
    @wraps(invoke)
    def invoked(function: Mapping[str, Any], event: Any) -> None:
        qualifier = ":".join(function["config"]["FunctionArn"].split(":")[7:])
        if qualifier:
            own = function.get("event_invoke_configs", {}).get(qualifier)
            function = {**function, "event_invoke_config": own, "event_invoke_configs": {}}
        invoke(function, event)

    return invoked


def _with_qualifier(extract: Callable[..., str]) -> Callable[..., str]:
    @wraps(extract)
    def extracted(service: str, method: str, path: str, *rest: Any) -> str:
        arn: str = extract(service, method, path, *rest)
        if service == "lambda" and path.endswith("/invocations"):
            sent: str | list[str] = rest[2].get("Qualifier", "")  # after the headers and the body
            qualifier = "".join(sent[:1]) if isinstance(sent, list) else sent
            if qualifier and len(arn.split(":")) == 7:
                return f"{arn}:{qualifier}"
        return arn

    return extracted


def _of_one_alias(action: Callable[[str, str], str | None]) -> Callable[[str, str], str | None]:
    @wraps(action)
    def found(method: str, path: str) -> str | None:
        parts = path.rstrip("/").split("/")
        return ACTIONS[method] if parts[-2:-1] == ["aliases"] and method in ACTIONS else action(method, path)

    return found
