"""What operators do with a deployment on this machine: read its logs, lose a table, send an event, mint with it."""

import json
import os
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from global_integers_core.names import DEPLOYMENTS_ALIAS

from .aws_clients import Aws, found
from .domain import how_to
from .paths import ROOT, LocalError, command
from .resources.lambda_ import FUNCTION, failure
from .server import aws_server
from .stack import Made, State, stack_file
from .terminal import say

if TYPE_CHECKING:
    from components.names import ResourceNames

PLATFORM = ("START ", "END ", "REPORT ")
"""How the platform's own lines begin. With this program's settings, Lambda doesn't keep them, but this server does."""

AT_HOME = ("layouts", "mirror")


class Deployed:
    """A stack that is deployed here, or a `LocalError`."""

    def __init__(self, stack: str) -> None:
        self.stack = stack
        self.state = State(stack)
        self.server = aws_server.running(self.state.up)
        self.aws = Aws(self.server.endpoint)
        self.outputs: dict[str, Any] = self.state.outputs
        if not self.outputs:
            if self.state.unfinished:
                raise LocalError(f"the first `up` of stack {stack} has not finished; to continue it: {self.state.up}")
            stack_file(stack)
            raise LocalError(f"stack {stack} is not deployed here; deploy it: {self.state.up}")
        self.regions: list[str] = [*self.outputs["regions"], *self.outputs["leaving"]]
        self.urls: dict[str, str] = {**self.outputs["urls"], **self.outputs["leaving"]}

    @property
    def home(self) -> str:
        """The home region."""
        return next((at for at, name in self.functions if name == self.outputs["coordinator"]), self.regions[0])

    @cached_property
    def names(self) -> "ResourceNames":
        """The names of its resources, the same in every region."""
        from components.names import ResourceNames  # with all of Pulumi, which few commands need

        return ResourceNames(self.outputs["coordinator"].removesuffix("-coordinate"))

    @property
    def at_home(self) -> dict[str, str]:
        """The tables that only the home region has: what each is, and its name."""
        return dict(zip(AT_HOME, (self.names.layouts_table, self.names.mirror_table), strict=True))

    @property
    def functions(self) -> dict[tuple[str, str], Made]:
        """Region and name of every function → what the state has of it."""
        made = (each for each in self.state.resources.values() if each.type == FUNCTION and not each.replaced)
        return {(each.inputs["region"], each.id): each for each in made}

    def has_table(self, region: str, table: str) -> bool:
        """Return whether there is a table of this name."""
        return found(self.aws.client("dynamodb", region).describe_table, TableName=table) is not None

    def checked(self, region: str) -> str:
        """Return a region's name, or raise `LocalError` if the stack isn't there."""
        regions = sorted({self.home, *self.regions})
        if region not in regions:
            raise LocalError(f"{region}: stack {self.stack} has nothing there; name one of {', '.join(regions)}")
        return region


LogLine = tuple[int, str, str, str]
"""When a line was logged in milliseconds since 1970, the region, the function, and the line."""


def logs(stack: str, region: str | None, count: int, *, follow: bool) -> Iterator[str]:
    """Return the last lines that the functions have logged in a region, or in all; the newest last, without metrics.

    With `follow`, then each new one, until nobody reads them. A function's lines arrive in the order of their times,
    those of several functions in any. So each line is compared with all that were seen, and counted: two may be the
    same.
    """
    deployed = Deployed(stack)
    lines = _logged(deployed, region)
    if not lines and not follow:
        yield "no error and no change of a layout is logged (metrics aren't shown)"
    yield from map(_as_line, lines[-count:])
    while follow:
        time.sleep(1)
        seen, lines = Counter(lines), _logged(deployed, region)
        yield from map(_as_line, sorted((Counter(lines) - seen).elements()))


def _logged(deployed: Deployed, region: str | None) -> list[LogLine]:
    """Return all lines of the functions in a region, or in all, in the order of their times."""
    only = None if region is None else deployed.checked(region)
    lines: list[LogLine] = []
    for at, function in deployed.functions:
        client = deployed.aws.client("logs", at)
        pages = client.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
        if only in (None, at):
            with suppress(client.exceptions.ResourceNotFoundException):  # somebody has deleted it
                events = [event for page in pages for event in page["events"]]
                lines += [(event.get("timestamp", 0), at, function, event.get("message", "")) for event in events]
    shown = [line for line in lines if not line[3].startswith(PLATFORM) and '"_aws"' not in line[3]]
    return sorted(shown, key=lambda line: line[0])


def _as_line(event: LogLine) -> str:
    at, where, function, message = event
    return f"{time.strftime('%H:%M:%S', time.localtime(at / 1000))} {where} {function}: {message.rstrip()}"


def lose(stack: str, region: str | None, *at_home: str, receipts: bool = False) -> list[str]:
    """Delete tables as if AWS had lost them. Return what was lost, in lines.

    `region`: the counters table there; with `receipts`, the receipts table instead. `at_home`: these of `AT_HOME`.
    """
    deployed = Deployed(stack)
    lost = [(deployed.home, deployed.at_home[what]) for what in at_home]
    if region is not None:
        table = deployed.names.receipts_table if receipts else deployed.names.counters_table
        lost.append((deployed.checked(region), table))
    elif receipts or not lost:
        options = ", ".join(f"--{what}" for what in AT_HOME)
        raise LocalError(f"lose: name a region, or {options}; the regions are {', '.join(deployed.regions)}")
    for at, table in lost:
        client = deployed.aws.client("dynamodb", at)
        try:
            client.update_table(TableName=table, DeletionProtectionEnabled=False)
            client.delete_table(TableName=table)
        except client.exceptions.ResourceNotFoundException as error:
            raise LocalError(f"there is no {table} in {at}; to recreate it: {deployed.state.up}") from error
        client.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    lines = [f"lost: table {table} in {at}" for at, table in lost]
    return [*lines, f"to recreate what was lost: {deployed.state.up}"]


def send(stack: str, event: str) -> str:
    """Send an event to the coordinator, as `aws lambda invoke` with the alias `deployments` does. Return its answer."""
    asked: Any = None
    with suppress(ValueError):
        asked = json.loads(event)
    if not isinstance(asked, dict):
        example = shlex.quote(json.dumps({"schedule": True}))
        raise LocalError(f"send: {event} is not a JSON object, like {example}")
    return answered(Deployed(stack), event)


def answered(deployed: Deployed, event: str) -> str:
    """Return the coordinator's answer to an event, or raise `LocalError`."""
    name = deployed.outputs["coordinator"]
    client = deployed.aws.client("lambda", deployed.home)
    try:
        response = client.invoke(FunctionName=name, Qualifier=DEPLOYMENTS_ALIAS, Payload=event)
    except client.exceptions.ResourceNotFoundException as error:
        raise LocalError(f"{name} or its alias is gone; to recreate it: {deployed.state.up}") from error
    answer = response["Payload"].read().decode()
    if "FunctionError" in response:
        raise LocalError(f"{name}: {failure(answer)}")
    return answer


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens URLs on this machine, whatever proxy the environment names."""

MINTS = 5


def mint(url: str) -> int:
    """Return one integer of the default counter from a region's URL.

    Raises:
        LocalError: the region refuses: it is paused, for example, or its URL takes signed requests only.
        OSError, HTTPException: there is no response, or not all of one.
    """
    try:
        with OPENER.open(urllib.request.Request(url, method="POST"), timeout=30) as response:
            return json.load(response)["integer"]
    except urllib.error.HTTPError as error:
        error.close()
        if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS):
            raise
        raise LocalError(
            f"{url} answers {error.code}. With 429, the region is paused, or it has too many requests. With 403, the "
            "URLs take signed requests only (docs/api.md says how to sign), and the demo doesn't sign: to open them, "
            f"run {command('up')} as before, but with: -c authorization=NONE"
        ) from error


def table(outputs: Mapping[str, Any], minted: Mapping[str, list[int]]) -> str:
    """Return what was minted as a table. Each URL has a line of its own, so a narrow terminal can show the table."""
    rows = [["region", "offset", "stride", "just minted"]]
    for region, integers in minted.items():
        place = outputs["layout"][region]
        rows.append([region, str(place["offset"]), str(place["stride"]), ", ".join(map(str, integers))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["─" * width for width in widths])
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    below = [f"{line}\n  {outputs['urls'][region]}" for line, region in zip(lines[2:], minted, strict=True)]
    return "\n".join([*lines[:2], *below])


def demo(stack: str) -> None:
    """Mint in every region, print a table, and check all regions as a caller sees them."""
    outputs = Deployed(stack).outputs
    if any(url.startswith("https:") for url in outputs["urls"].values()):
        raise LocalError(f"there are no Function URLs to mint by.\n{how_to(outputs).rstrip()}")
    try:
        minted = {region: [mint(outputs["urls"][region]) for _ in range(MINTS)] for region in outputs["regions"]}
    except (OSError, HTTPException) as error:
        raise LocalError(f"minting failed: {error}\n{aws_server.SERVICE.log_end()}") from error
    say(f"\n{table(outputs, minted)}\n")
    say(f"{sum(map(len, minted.values()))} integers minted; the check mints others\n\nglobal-integers check")
    client, encoding = str(ROOT / "client" / "src"), f"{sys.stdout.encoding or ''}:replace"
    checked = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(outputs["urls"]), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": client, "PYTHONIOENCODING": encoding},
        check=False,
    )
    if checked.returncode:
        raise LocalError("the deployment failed its check; what is wrong is printed above")
    print(f"\nmint one more:  curl {next(iter(outputs['urls'].values()))}")
    print(f"all outputs:    {command(f'outputs --stack {stack}')}\nend it:         {command('down')}")
