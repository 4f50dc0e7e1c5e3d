"""What `status` prints: what each region itself answers, and which tables and functions the server has."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, cast

from global_integers_core.names import DELETED, LIVE_ALIAS

from .apigateway import GATEWAY
from .aws_clients import found
from .domain import DOMAIN, LOCAL
from .operator_commands import Deployed
from .resources.lambda_ import phase, registers
from .server.ministack_server import FUNCTION_URLS

MOST_COUNTERS = 20

ANSWER_TIMEOUT = 60
"""Seconds. A function may run for 30."""


def status(stack: str) -> str:
    """Return a deployment's status: its regions with their URLs, its counters with their layouts, what is missing."""
    deployed = Deployed(stack)
    up, unfinished = deployed.state.up, deployed.state.unfinished
    again = (
        f"the last `up` creates or deletes it, and has not finished: {up}" if unfinished else f"to recreate it: {up}"
    )
    home = deployed.home
    lines = [f"{stack} on {deployed.server.endpoint} (process {deployed.server.pid}), home region {home}"]
    if unfinished:
        lines.append(f"the last `up` was interrupted, or failed. To continue it, or to read why: {up}")
    gone = [what for what, table in deployed.at_home.items() if not deployed.has_table(home, table)]
    counters = registers(deployed.aws, home, deployed.at_home["layouts"]) if "layouts" not in gone else {}
    defaults: dict[str, str] = {}
    for region in _regions(deployed):
        if region not in deployed.urls:
            lines.append(f"  {region}: can't be called yet; {again}")
            continue
        standing, *notes = _standing(deployed, region, again, counters, defaults)
        lines += [f"  {region}: {standing}", f"    {deployed.urls[region]}", *(f"    {note}" for note in notes)]
    if "domainUrl" in deployed.outputs:
        lines.append(f"domain: {deployed.outputs['domainUrl']}")
    served = {DOMAIN: LOCAL in deployed.outputs, GATEWAY: bool(deployed.outputs["gatewayUrls"])}
    ended = [process.what for process, needed in served.items() if needed and not process.runs()]
    lines += [f"{what} has ended; to start it: {up}" for what in ended]
    lines += [f"the {what} table is lost; {again}" for what in gone]
    coordinator = deployed.outputs["coordinator"]
    if found(deployed.aws.client("lambda", home).get_function, FunctionName=coordinator) is None:
        lines.append(f"the coordinator's function is gone; {again}")
    lines += _counters(counters)
    default = {*defaults.values()} or {deployed.outputs["defaultCounter"]}
    each = ", ".join(f"{counter} in {region}" for region, counter in defaults.items())
    lines.append(f"default counter: {each if len(default) > 1 else default.pop()}")
    return "\n".join([*lines, _alarms(deployed)])


def _regions(deployed: Deployed) -> list[str]:
    """Return the regions of the last finished deployment, and those that have a function since."""
    minting = [region for region, name in deployed.functions() if name == deployed.names.mint_function]
    return list(dict.fromkeys((*deployed.regions, *minting)))


def _standing(
    deployed: Deployed, region: str, again: str, counters: Mapping[str, Any], defaults: dict[str, str]
) -> list[str]:
    """Return whether a region mints, and what else is not as it was deployed. Add its default counter to `defaults`."""
    names, functions = deployed.names, deployed.aws.client("lambda", region)
    notes = [f"its receipts table is lost; {again}"] if not deployed.has_table(region, names.receipts_table) else []
    limit = found(functions.get_function_concurrency, FunctionName=names.mint_function)
    if limit is None:
        return [f"doesn't mint: its function is gone; {again}", *notes]
    alias = found(functions.get_alias, FunctionName=names.mint_function, Name=LIVE_ALIAS)
    if alias is None:
        return [f"doesn't mint: the alias {LIVE_ALIAS} of its function is gone; {again}", *notes]
    if not deployed.has_table(region, names.counters_table):
        return [f"doesn't mint: its counters table is lost; {again}", *notes]
    if limit.get("ReservedConcurrentExecutions") == 0:
        return ["paused", *notes]
    reached, last = alias["FunctionVersion"], deployed.version(region)
    if reached != last:
        notes.append(f"callers reach version {reached} of its function, not {last}, the last one deployed")
    url = found(functions.get_function_url_config, FunctionName=names.mint_function, Qualifier=LIVE_ALIAS)
    if url is None and FUNCTION_URLS in deployed.urls.get(region, ""):
        return [f"can't be called: its Function URL is gone; {again}", *notes]
    code, answer = _asked(deployed, region, "/-/health")
    if code == HTTPStatus.OK:
        code, answer = _invoked(deployed, region, "/-/status")
    if code != HTTPStatus.OK:
        return [_problem(code, answer), *notes]
    defaults[region] = str(answer.get("counter"))
    return [_place(region, answer, counters.get(defaults[region])), *notes]


def _place(region: str, answer: Mapping[str, Any], register: Mapping[str, Any] | None) -> str:
    """Return where a region that mints stands in the layout: as its default counter's register says.

    Where that is lost or can't be read, the region may know it from its receipts table, which may be lost, too.
    """
    epoch, regions = answer.get("epoch"), answer.get("regions", [])
    with suppress(KeyError, TypeError, ValueError):
        known = register or {}
        current, regions = int(known["epoch"]["N"]), [each["S"] for each in known["regions"]["L"]]
        if epoch != current:
            return f"mints in epoch {epoch}, and doesn't have the present layout yet (epoch {current})"
    if region not in regions:
        return f"mints in epoch {epoch}, with stride {answer.get('stride')}"
    return f"mints, offset {regions.index(region) + 1} of stride {answer.get('stride')}"


def _problem(code: int, answer: Mapping[str, Any]) -> str:
    detail = answer.get("detail") or answer.get("errorMessage") or answer.get("message") or "no reason"
    match code:
        case HTTPStatus.GONE:
            return "leaving, mints no longer"
        case HTTPStatus.TOO_MANY_REQUESTS:
            return "throttled: it gets more requests than it may serve at the same time (429)"
        case HTTPStatus.BAD_GATEWAY | HTTPStatus.GATEWAY_TIMEOUT:
            return f"doesn't mint: its function fails ({code}: {detail})"
        case 0:
            return f"doesn't mint: no response ({detail})"
        case _:
            return f"doesn't mint: {code}, {detail}"


def _asked(deployed: Deployed, region: str, path: str) -> tuple[int, Mapping[str, Any]]:
    """Return status and document of a GET at the region's URL, or of its function if it has no URL, or a signed one.

    The status is 0 if there is no response, or not all of it.
    """
    url = deployed.urls.get(region, "")
    if not url.startswith("http://"):  # a name of the domain
        return _invoked(deployed, region, path)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url.removesuffix("/") + path, timeout=ANSWER_TIMEOUT) as response:
            return response.status, _document(response.read())
    except urllib.error.HTTPError as error:
        with error:
            document = _document(error.read())
        if error.code == HTTPStatus.FORBIDDEN:
            return _invoked(deployed, region, path)
        return error.code, document
    except (OSError, HTTPException) as error:
        return 0, {"detail": str(error)}


def _invoked(deployed: Deployed, region: str, path: str) -> tuple[int, Mapping[str, Any]]:
    client = deployed.aws.client("lambda", region)
    event = {"version": "2.0", "rawPath": path, "requestContext": {"http": {"method": "GET"}}}
    try:
        response = client.invoke(
            FunctionName=deployed.names.mint_function, Qualifier=LIVE_ALIAS, Payload=json.dumps(event)
        )
    except client.exceptions.TooManyRequestsException:
        return HTTPStatus.TOO_MANY_REQUESTS, {}
    answer = _document(response["Payload"].read())
    if "FunctionError" in response:
        return HTTPStatus.BAD_GATEWAY, answer
    return answer.get("statusCode", HTTPStatus.BAD_GATEWAY), _document(answer.get("body", ""))


def _document(body: str | bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        document: Any = json.loads(body)
        if isinstance(document, dict):
            return cast("Mapping[str, Any]", document)
    return {}


def _counters(counters: Mapping[str, Any]) -> list[str]:
    there = {name: said for name, register in sorted(counters.items()) if (said := phase(register)) != DELETED}
    lines = [f"counter {name}: {said}" for name, said in [*there.items()][:MOST_COUNTERS]]
    more = len(there) - MOST_COUNTERS
    return [*lines, f"… and {more} more counters"] if more > 0 else lines


def _alarms(deployed: Deployed) -> str:
    """Say how many alarms there are.

    The server evaluates alarms only when somebody puts metric data into it (its `services/cloudwatch.py`), and nothing
    here does: Lambda's and DynamoDB's own metrics, and those in the coordinator's log lines, are not put.
    """
    alarms = [made for made in deployed.state.resources.values() if "Alarm" in made.type and not made.replaced]
    return f"alarms: {len(alarms)} deployed; the local server evaluates none of them"
