"""Makes ministack treat a function's versions and aliases as Lambda does, where ministack is more permissive.

- A function that EventBridge or a Function URL calls by an alias sees the alias in its context's ARN (Lambda guide,
  "Using the Lambda context object", `invoked_function_arn`).
- An asynchronous event that an alias gets is retried by the alias's own settings, by default twice (Lambda guide,
  "Configuring error handling settings for Lambda asynchronous invocations").
- A policy is compared with the function's ARN as it is called: with its qualifier, however that is sent (Lambda guide,
  "Fine-tuning the Resources and Conditions sections of policies").
- A call about one alias is an action of its own: GetAlias, UpdateAlias, DeleteAlias.
- Every qualifier has a resource policy of its own: a permission of the function isn't one of its alias. Neither a rule
  nor an API calls what it has no permission for (Lambda guide, "Using Lambda aliases in event sources and permissions
  policies"; EventBridge guide, "Using resource-based policies for Amazon EventBridge").
- Reserved concurrency is the function's, with all its versions and aliases (Lambda guide, "Configuring reserved
  concurrency for a function").
- A version is published only if code or configuration differ from the last version's. Numbers are never reused, even
  if the function is deleted and created again (Lambda guide, "Manage Lambda function versions").
- An alias leads to a version that exists.
- A deleted function takes its URLs with it. Made again, it gets the same ones here, unlike on AWS.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import wraps
from hashlib import sha256
from typing import Any

from ministack.core import iam_actions  # pyright: ignore[reportMissingTypeStubs]
from ministack.services import eventbridge, lambda_svc  # pyright: ignore[reportMissingTypeStubs]

from local.paths import state_folder

ACTIONS = {"GET": "GetAlias", "PUT": "UpdateAlias", "DELETE": "DeleteAlias"}
"""Method → action of a call about one alias."""

OF_NO_VERSION = frozenset({"Version", "FunctionArn", "RevisionId", "LastModified"})
"""What differs between two descriptions of the same code and configuration; their states do, too."""

Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""

Found = tuple[dict[str, Any] | None, dict[str, Any] | None, str]
"""A function's record, its configuration, and its name."""


def apply() -> dict[tuple[str, ...], int]:
    """Change the modules of ministack in this process. Return the numbers of deleted functions' next versions."""
    functions: Any = lambda_svc
    actions: Any = iam_actions
    rules: Any = eventbridge
    functions._get_func_record_for_ref = _with_qualified_arn(functions)
    functions._get_func_record_for_ref_in_scope = _if_apis_may(functions)
    functions.invoke_async_with_retry = _with_own_retries(functions)
    functions._reserved_concurrency = _of_all_versions(functions)
    functions._publish_version = _if_changed(functions)
    numbers: dict[tuple[str, ...], int] = {}
    functions._delete_function = _with_its_urls(functions, numbers)
    functions._create_function_url_config = _with_lasting_url(functions)
    functions._create_function = _numbered_on(functions, numbers)
    functions._create_alias = _to_a_version(functions, functions._create_alias)
    functions._update_alias = _to_a_version(functions, functions._update_alias)
    for operation in ("_add_permission", "_remove_permission", "_get_policy"):
        setattr(functions, operation, _with_own_policy(functions, getattr(functions, operation)))
    rules._dispatch_to_lambda = _if_rules_may(functions, rules._dispatch_to_lambda)
    actions.extract_resource_arn = _with_qualifier(actions.extract_resource_arn)
    actions._lambda_action = _of_one_alias(actions._lambda_action)
    return numbers


def _whole(functions: Any, configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the record of the function to which a configuration belongs, be it a version's or an alias's."""
    account, region = functions._account_region_from_function_config(configuration)
    return functions._functions.get_scoped(account, region, configuration["FunctionName"])


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


def _with_own_retries(functions: Any) -> Callable[[Mapping[str, Any], Any], None]:
    invoke: Callable[[Mapping[str, Any], Any], None] = functions.invoke_async_with_retry

    @wraps(invoke)
    def invoked(function: Mapping[str, Any], event: Any) -> None:
        qualifier = ":".join(function["config"]["FunctionArn"].split(":")[7:])
        if qualifier:  # a version's record has no such settings
            own = (_whole(functions, function["config"]) or {}).get("event_invoke_configs", {}).get(qualifier)
            function = {**function, "event_invoke_config": own, "event_invoke_configs": {}}
        invoke(function, event)

    return invoked


def _of_all_versions(functions: Any) -> Callable[..., int | None]:
    find: Callable[..., int | None] = functions._reserved_concurrency

    @wraps(find)
    def reserved(record: Mapping[str, Any], configuration: Mapping[str, Any]) -> int | None:
        return find(_whole(functions, configuration) or record, configuration)

    return reserved


def _if_changed(functions: Any) -> Callable[..., Response]:
    publish: Callable[..., Response] = functions._publish_version

    @wraps(publish)
    def published(name: str, data: Any) -> Response:
        function: dict[str, Any] | None = functions._functions.get(name)
        if function is None:
            return publish(name, data)
        versions = function["versions"]
        content = {
            key: value
            for key, value in function["config"].items()
            if key not in OF_NO_VERSION and not key.startswith(("State", "LastUpdate"))
        }
        last = versions.get(max(versions, key=int, default=None))
        if last and last["content"] == content:
            return functions.json_response(last["config"], 201)
        response = publish(name, data)
        versions[max(versions, key=int)]["content"] = deepcopy(content)
        return response

    return published


def _numbered_on(functions: Any, numbers: Mapping[tuple[str, ...], int]) -> Callable[[Any], Response]:
    create: Callable[[Any], Response] = functions._create_function

    @wraps(create)
    def created(data: Any) -> Response:
        response = create({key: value for key, value in data.items() if key != "Publish"})
        if response[0] != 201:
            return response
        name = data["FunctionName"]
        number = numbers.get((functions.get_account_id(), functions.get_region(), name), 1)
        functions._functions[name]["next_version"] = number
        return functions._publish_version(name, {}) if data.get("Publish") else response

    return created


def _with_its_urls(functions: Any, numbers: dict[tuple[str, ...], int]) -> Callable[..., Response]:
    delete: Callable[..., Response] = functions._delete_function

    @wraps(delete)
    def deleted(name: str, *rest: Any) -> Response:
        number = functions._functions.get(name, {}).get("next_version", 1)
        response = delete(name, *rest)
        if name not in functions._functions:
            numbers[functions.get_account_id(), functions.get_region(), name] = number
            for key in [key for key, _ in functions._function_urls.items() if key.split(":")[0] == name]:
                del functions._function_urls[key]
        return response

    return deleted


def _with_lasting_url(functions: Any) -> Callable[..., Response]:
    """Give a function that is made again the same URL: it depends on its name and place, and on the state's folder.

    So clients of a stack that has ended don't mint from another checkout's, which may have taken the port.
    """
    create: Callable[..., Response] = functions._create_function_url_config

    @wraps(create)
    def created(name: str, data: Any, qualifier: str | None) -> Response:
        response = create(name, data, qualifier)
        if response[0] != 201:
            return response
        key = functions._url_config_key(name, qualifier)
        account, region = functions.get_account_id(), functions.get_region()
        id_ = sha256(f"{state_folder()}:{account}:{region}:{key}".encode()).hexdigest()[:32]
        configuration = functions._function_urls[key]
        configuration["FunctionUrl"] = f"https://{id_}.lambda-url.{region}.on.aws/"
        return functions.json_response(configuration, status=201)

    return created


def _to_a_version(functions: Any, operation: Callable[..., Response]) -> Callable[..., Response]:
    @wraps(operation)
    def done(name: str, *rest: Any) -> Response:
        wanted = rest[-1].get("FunctionVersion", "$LATEST")
        versions = functions._functions.get(name, {}).get("versions", {})
        if wanted not in ("$LATEST", *versions):
            return functions._function_qualifier_not_found(name, wanted)
        return operation(name, *rest)

    return done


def _with_own_policy(functions: Any, operation: Callable[..., Response]) -> Callable[..., Response]:
    """Return an operation on a policy that sees only the statements of its own qualifier."""

    @wraps(operation)
    def done(name: str, *rest: Any) -> Response:
        function: dict[str, Any] | None = functions._functions.get(name)
        if function is None:
            return operation(name, *rest)
        query, path = rest[-2:]
        own = functions._policy_resource_arn(name, functions._qualifier_from_path_or_query(path, query))
        policy: dict[str, Any] = function["policy"]
        others = [statement for statement in policy["Statement"] if statement["Resource"] != own]
        policy["Statement"] = [statement for statement in policy["Statement"] if statement["Resource"] == own]
        try:
            return operation(name, *rest)
        finally:
            policy["Statement"] += others

    return done


def _permits(functions: Any, arn: str, service: str) -> bool:
    """Return whether a service may call a function by this ARN. Conditions on the caller's own ARN aren't compared."""
    function, _, _ = functions._get_base_func_record_for_ref(arn)
    statements: list[dict[str, Any]] = function["policy"]["Statement"] if function else []
    return any(one["Resource"] == arn and one["Principal"] == {"Service": service} for one in statements)


def _if_rules_may(functions: Any, dispatch: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    @wraps(dispatch)
    def dispatched(arn: str, payload: Any) -> None:
        if _permits(functions, arn, "events.amazonaws.com"):
            dispatch(arn, payload)

    return dispatched


def _if_apis_may(functions: Any) -> Callable[..., Found]:
    find: Callable[..., Found] = functions._get_func_record_for_ref_in_scope

    @wraps(find)
    def found(reference: str, **scope: Any) -> Found:
        record, configuration, name = find(reference, **scope)
        # API Gateway calls by an ARN. A Function URL, which has been authorized by now, calls by a name.
        if reference.startswith("arn:") and not _permits(functions, reference, "apigateway.amazonaws.com"):
            return None, None, name
        return record, configuration, name

    return found


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
