"""What `status` prints: what each region itself answers, and which tables and functions the server has."""

import json
import urllib.error
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, cast

from global_integers_core.names import DELETED, LIVE_ALIAS

from .apigateway import GATEWAY
from .aws_clients import found
from .domain import DOMAIN, LOCAL
from .operator_commands import OPENER, Deployed
from .resources.lambda_ import phase, registers
from .server.ministack_server import FUNCTION_URLS

MOST_COUNTERS = 20

ANSWER_TIMEOUT = 60
"""Seconds. A function may run for 30."""


def status(stack: str) -> str:
    """Return a deployment's status: its regions with their URLs, its counters with their layouts, what is missing."""
    deployed = Deployed(stack)
    up, home = deployed.state.up, deployed.home
    lines = [f"{stack} on {deployed.server.endpoint} (process {deployed.server.pid}), home region {home}"]
    if deployed.state.unfinished:
        lines.append(f"the last `up` was interrupted, or failed. To continue it, or to read why: {up}")
    gone = [what for what, table in deployed.at_home.items() if not deployed.has_table(home, table)]
    counters = registers(deployed.aws, home, deployed.at_home["layouts"]) if "layouts" not in gone else {}
    minting = [region for region, name in deployed.functions if name == deployed.names.mint_function]
    for region in dict.fromkeys((*deployed.regions, *minting)):
        if region not in deployed.urls:
            lines.append(f"  {region}: can't be called yet; to continue: {up}")
            continue
        standing = _standing(deployed, region, f"to recreate it: {up}")
        lines += [
            f"  {region}: {standing[0]}",
            f"    {deployed.urls[region]}",
            *(f"    {note}" for note in standing[1:]),
        ]
    if "domainUrl" in deployed.outputs:
        lines.append(f"domain: {deployed.outputs['domainUrl']}")
    served = {DOMAIN: LOCAL in deployed.outputs, GATEWAY: bool(deployed.outputs["gatewayUrls"])}
    ended = [process.what for process, needed in served.items() if needed and not process.runs()]
    lines += [f"{what} has ended; to start it: {up}" for what in ended]
    lines += [f"the {what} table is lost; to recreate it: {up}" for what in gone]
    coordinator = deployed.outputs["coordinator"]
    if found(deployed.aws.client("lambda", home).get_function, FunctionName=coordinator) is None:
        lines.append(f"the coordinator's function is gone; to recreate it: {up}")
    there = {name: said for name, register in sorted(counters.items()) if (said := phase(register)) != DELETED}
    lines += [f"counter {name}: {said}" for name, said in [*there.items()][:MOST_COUNTERS]]
    if len(there) > MOST_COUNTERS:
        lines.append(f"… and {len(there) - MOST_COUNTERS} more counters")
    return "\n".join([*lines, f"default counter: {deployed.outputs['defaultCounter']}", _alarms(deployed)])


def _standing(deployed: Deployed, region: str, again: str) -> list[str]:
    """Return whether a region mints, and what else is not as it was deployed."""
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
    function = deployed.functions.get((region, names.mint_function))
    reached, last = alias["FunctionVersion"], function and function.outputs.get("version")
    if reached != last:
        notes.append(f"callers reach version {reached} of its function, not {last}, the last one deployed")
    url = found(functions.get_function_url_config, FunctionName=names.mint_function, Qualifier=LIVE_ALIAS)
    if url is None and FUNCTION_URLS in deployed.urls[region]:
        return [f"can't be called: its Function URL is gone; {again}", *notes]
    code, answer = _asked(deployed, region)
    if code == HTTPStatus.OK:
        code, answer = _invoked(deployed, region)
    if code == HTTPStatus.GONE:
        return ["leaving, mints no longer", *notes]
    if code != HTTPStatus.OK:
        detail = answer.get("detail") or answer.get("errorMessage") or answer.get("message") or "no reason"
        return [f"doesn't mint: {code or 'no response'}, {detail}", *notes]
    return [_place(region, answer), *notes]


def _place(region: str, answer: Mapping[str, Any]) -> str:
    """Return where a region that mints stands in the layout, which it knows from its receipts table."""
    regions, stride = answer.get("regions", []), answer.get("stride")
    if region not in regions:
        return f"mints in epoch {answer.get('epoch')}, with stride {stride}"
    return f"mints, offset {regions.index(region) + 1} of stride {stride}"


def _asked(deployed: Deployed, region: str) -> tuple[int, Mapping[str, Any]]:
    """Return status and document of the region's health at its URL, or of its status if it has no URL, or a signed one.

    The status is 0 if there is no response, or not all of it.
    """
    url = deployed.urls[region]
    if not url.startswith("http://"):  # a name of the domain
        return _invoked(deployed, region)
    try:
        with OPENER.open(f"{url}-/health", timeout=ANSWER_TIMEOUT) as response:
            return response.status, _document(response.read())
    except urllib.error.HTTPError as error:
        with error:
            document = _document(error.read())
        return _invoked(deployed, region) if error.code == HTTPStatus.FORBIDDEN else (error.code, document)
    except (OSError, HTTPException) as error:
        return 0, {"detail": str(error)}


def _invoked(deployed: Deployed, region: str) -> tuple[int, Mapping[str, Any]]:
    """Return code and document of the region's status, from its function."""
    client, name = deployed.aws.client("lambda", region), deployed.names.mint_function
    event = json.dumps({"version": "2.0", "rawPath": "/-/status", "requestContext": {"http": {"method": "GET"}}})
    try:
        response = client.invoke(FunctionName=name, Qualifier=LIVE_ALIAS, Payload=event)
    except client.exceptions.TooManyRequestsException:
        return HTTPStatus.TOO_MANY_REQUESTS, {}
    answer = _document(response["Payload"].read())
    return answer.get("statusCode", HTTPStatus.BAD_GATEWAY), _document(answer.get("body", "")) or answer


def _document(body: str | bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        document: Any = json.loads(body)
        if isinstance(document, dict):
            return cast("Mapping[str, Any]", document)
    return {}


def _alarms(deployed: Deployed) -> str:
    """Say how many alarms there are.

    The server evaluates alarms only when somebody puts metric data into it (its `services/cloudwatch.py`), and nothing
    here does: Lambda's and DynamoDB's own metrics, and those in the coordinator's log lines, are not put.
    """
    alarms = [made for made in deployed.state.resources.values() if "Alarm" in made.type and not made.replaced]
    return f"alarms: {len(alarms)} deployed; the local server evaluates none of them"
