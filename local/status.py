"""What `status` prints: what each region's function answers, and which tables and processes there are."""

import json
from typing import Any

from global_integers_core.names import LIVE_ALIAS

from .apigateway import GATEWAY
from .aws_clients import found
from .domain import DOMAIN, LOCAL
from .operator_commands import Deployed, answered
from .paths import LocalError, as_here
from .resources.lambda_ import failure
from .server.ministack_server import FUNCTION_URLS

MOST_COUNTERS = 20

ASKED = json.dumps({"version": "2.0", "rawPath": "/-/status", "requestContext": {"http": {"method": "GET"}}})
"""The event by which a minting function says how it stands."""


def status(stack: str) -> str:
    """Return a deployment's status: its regions with their URLs, its counters with their layouts, what is missing."""
    deployed = Deployed(stack)
    up, home = deployed.state.up, deployed.home
    lines = [f"{stack} on {deployed.server.endpoint} (process {deployed.server.pid}), home region {home}"]
    if deployed.state.unfinished:
        lines.append(f"the last `up` was interrupted, or failed. To continue it, or to read why: {up}")
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
    gone = [what for what, table in deployed.at_home.items() if not deployed.has_table(home, table)]
    lines += [f"the {what} table is lost; to recreate it: {up}" for what in gone]
    lines += [*_counters(deployed), f"default counter: {deployed.outputs['defaultCounter']}"]
    return "\n".join(lines)


def _standing(deployed: Deployed, region: str, again: str) -> list[str]:
    """Return whether a region mints, as its function says, and what else is not as it was deployed."""
    name, functions = deployed.names.mint_function, deployed.aws.client("lambda", region)
    tables = {"counters": deployed.names.counters_table, "receipts": deployed.names.receipts_table}
    lost = [what for what, table in tables.items() if not deployed.has_table(region, table)]
    notes = [f"its {what} table is lost; {again}" for what in lost]
    try:
        response = functions.invoke(FunctionName=name, Qualifier=LIVE_ALIAS, Payload=ASKED)
    except functions.exceptions.ResourceNotFoundException:
        return [f"doesn't mint: its function or the alias {LIVE_ALIAS} is gone; {again}", *notes]
    except functions.exceptions.TooManyRequestsException:
        return ["paused, or it has too many requests", *notes]
    url = found(functions.get_function_url_config, FunctionName=name, Qualifier=LIVE_ALIAS)
    if url is None and FUNCTION_URLS in deployed.urls[region]:
        return [f"can't be called: its Function URL is gone; {again}", *notes]
    function, reached = deployed.functions.get((region, name)), response.get("ExecutedVersion")
    if function and reached != function.outputs["version"]:
        last = function.outputs["version"]
        notes.append(f"callers reach version {reached} of its function, not {last}, the last one deployed")
    payload = response["Payload"].read().decode()
    if "FunctionError" in response:
        return [f"doesn't mint: {failure(payload)}", *notes]
    answer: dict[str, Any] = json.loads(json.loads(payload)["body"])
    if not answer.get("ok"):
        return [f"doesn't mint: {answer.get('reason') or answer.get('detail')}", *notes]
    if region not in answer["regions"]:  # it knows the layout from its receipts table
        return [f"mints in epoch {answer['epoch']}, with stride {answer['stride']}", *notes]
    return [f"mints, offset {answer['regions'].index(region) + 1} of stride {answer['stride']}", *notes]


def _counters(deployed: Deployed) -> list[str]:
    """Return a line for each counter, as the coordinator lists them."""
    try:
        counters: dict[str, Any] = json.loads(answered(deployed, json.dumps({"counters": True})))["counters"]
    except LocalError as error:
        return [as_here(str(error))]
    lines = [f"counter {name}: epoch {each['epoch']} from {each['base']}" for name, each in counters.items()]
    more = [f"… and {len(lines) - MOST_COUNTERS} more counters"] if len(lines) > MOST_COUNTERS else []
    return lines[:MOST_COUNTERS] + more
