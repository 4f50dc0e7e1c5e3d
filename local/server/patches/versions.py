"""A function's versions, aliases and URLs.

- Numbers of versions are never reused, even if the function is deleted and created again (Lambda guide, "Manage Lambda
  function versions").
- An alias leads to a version that exists, and isn't named like one: a number (Lambda API, "CreateAlias").
- A deleted function takes its URLs with it. Made again, it gets the same ones here, unlike on AWS.
- Reserved concurrency is the function's, with all its versions and aliases (Lambda guide, "Configuring reserved
  concurrency for a function").
- A URL and a REST API hand a path over as it was sent; an HTTP API decodes it, which ministack does by itself.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from ...paths import state_folder
from . import ministack, replaces

LAMBDA = ministack("services.lambda_svc")

NUMBERS: dict[tuple[str, ...], int] = {}
"""Account, region and name of a deleted function → the number of its next version, or of an alias (with its function)
that was deleted with its URL → how often that was. It is saved with the rest."""

Response = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


def whole(configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the record of the function to which a configuration belongs, be it a version's or an alias's."""
    account, region = LAMBDA._account_region_from_function_config(configuration)
    return LAMBDA._functions.get_scoped(account, region, configuration["FunctionName"])


def place(name: str) -> tuple[str, ...]:
    """Return what is numbered: account, region and name."""
    return LAMBDA.get_account_id(), LAMBDA.get_region(), name


@replaces(LAMBDA, "_reserved_concurrency", 'reserved = (func or {}).get("concurrency")')
def of_all_versions(find: Callable[..., int | None], record: Any, configuration: Mapping[str, Any]) -> int | None:
    """Return the function's reserved concurrency for each of its versions."""
    return find(whole(configuration) or record, configuration)


@replaces(LAMBDA, "_create_function", '"next_version": 1,')
def numbered_on(create: Callable[[Any], Response], data: Any) -> Response:
    """Number the versions of a function that is made again on."""
    response = create({key: value for key, value in data.items() if key != "Publish"})
    if response[0] != 201:
        return response
    name = data["FunctionName"]
    LAMBDA._functions[name]["next_version"] = NUMBERS.get(place(name), 1)
    return LAMBDA._publish_version(name, {}) if data.get("Publish") else response


@replaces(LAMBDA, "_delete_function", "del _functions[name]")
def with_its_urls(delete: Callable[..., Response], name: str, *rest: Any) -> Response:
    """Delete a function's URLs with it, and remember its next version's number."""
    number = LAMBDA._functions.get(name, {}).get("next_version", 1)
    response = delete(name, *rest)
    if name not in LAMBDA._functions:
        NUMBERS[place(name)] = number
        for key in [key for key, _ in LAMBDA._function_urls.items() if key.split(":")[0] == name]:
            del LAMBDA._function_urls[key]
    return response


@replaces(LAMBDA, "_create_function_url_config", "_new_function_url_id()")
def with_lasting_url(create: Callable[..., Response], name: str, data: Any, qualifier: str | None) -> Response:
    """Give a function that is made again the same URL: it depends on its name and place, and on the state's folder.

    So clients of a stack that has ended don't mint from another checkout's, which may have taken the port.
    """
    response = create(name, data, qualifier)
    if response[0] != 201:
        return response
    key = LAMBDA._url_config_key(name, qualifier)
    account, region, _ = place(name)
    id_ = sha256(f"{state_folder()}:{account}:{region}:{key}{NUMBERS.get(place(key), '')}".encode()).hexdigest()[:32]
    configuration = LAMBDA._function_urls[key]
    configuration["FunctionUrl"] = f"https://{id_}.lambda-url.{region}.on.aws/"
    return LAMBDA.json_response(configuration, status=201)


@replaces(LAMBDA, "_create_alias", '"FunctionVersion": data.get("FunctionVersion", "$LATEST"),')
@replaces(LAMBDA, "_update_alias", 'for key in ("FunctionVersion", "Description"):')
def to_a_version(operation: Callable[..., Response], name: str, *rest: Any) -> Response:
    """Refuse an alias of a version that doesn't exist, and one whose name is a number."""
    if str(rest[-1].get("Name", "")).isdecimal():
        return LAMBDA.error_response_json("ValidationException", "1 validation error detected: 'name' is a number", 400)
    wanted = rest[-1].get("FunctionVersion", "$LATEST")
    if wanted not in ("$LATEST", *LAMBDA._functions.get(name, {}).get("versions", {})):
        return LAMBDA._function_qualifier_not_found(name, wanted)
    return operation(name, *rest)


@replaces(
    ministack("app"), "_handle_special_data_plane_request", "await _handle_lambda_url_request(host, path, method,"
)
async def as_sent(handle: Callable[..., Any], method: str, _: str, *rest: Any, raw_path: str, **more: Any) -> Any:
    """Hand over the path as it was sent, encoded."""
    return await handle(method, raw_path, *rest, raw_path=raw_path, **more)


@replaces(LAMBDA, "_build_function_url_event", '"path": path,')
def decoded_too(build: Callable[..., dict[str, Any]], *arguments: Any, **named: Any) -> dict[str, Any]:
    """Return the event of a URL. Its context has the path decoded."""
    event = build(*arguments, **named)
    event["requestContext"]["http"]["path"] = unquote(event["rawPath"])
    return event
