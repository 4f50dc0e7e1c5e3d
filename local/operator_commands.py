"""What operators do with a deployment on this machine: see its status, read its logs, lose a table, mint by it."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .domain import DOMAIN, LOCAL, how_to
from .domain.zone import HTTP_API_FAILED
from .paths import ROOT, LocalError, command
from .resources.kind import Aws
from .resources.lambda_ import FUNCTION, phase, registers
from .server import aws_server
from .stack import State

if TYPE_CHECKING:
    from components.settings.names import ResourceNames

MOST_COUNTERS = 20

PLATFORM = ("START ", "END ", "REPORT ")
"""How the platform's own lines begin. With this program's settings, Lambda doesn't keep them, but this server does."""


class Deployed:
    """A stack that is deployed here, or a `LocalError`."""

    def __init__(self, stack: str) -> None:
        self.server = aws_server.running()
        self.aws = Aws(self.server.endpoint)
        self.stack = stack
        self.state = State(stack)
        self.outputs: dict[str, Any] = self.state.outputs
        if not self.outputs:
            raise LocalError(f"stack {stack} is not deployed here; deploy it: {command(f'up --stack {stack}')}")
        self.regions: list[str] = [*self.outputs["regions"], *self.outputs["leaving"]]

    @property
    def home(self) -> str:
        """The home region."""
        return next((at for at, name in self.functions() if name == self.outputs["coordinator"]), self.regions[0])

    @cached_property
    def names(self) -> "ResourceNames":
        """The names of its resources, the same in every region."""
        from components.settings.names import ResourceNames  # with all of Pulumi, which few commands need

        return ResourceNames(self.outputs["coordinator"].removesuffix("-coordinate"))

    def functions(self) -> list[tuple[str, str]]:
        """Return region and name of every function."""
        made = [each for each in self.state.resources.values() if each.type == FUNCTION and not each.replaced]
        return [(each.inputs["region"], each.id) for each in made]

    def checked(self, region: str) -> str:
        """Return a region's name, or raise `LocalError` if the stack isn't there."""
        regions = sorted({self.home, *self.regions})
        if region not in regions:
            raise LocalError(f"{region}: stack {self.stack} has no tables there; name one of {', '.join(regions)}")
        return region


def status(stack: str) -> str:
    """Return a deployment's status: its regions with their URLs, its counters with their layouts, its alarms."""
    deployed = Deployed(stack)
    home, layouts = deployed.home, deployed.names.layouts_table
    lines = [f"{stack} on {deployed.server.endpoint} (process {deployed.server.pid}), home region {home}"]
    for region in deployed.regions:
        url = {**deployed.outputs["urls"], **deployed.outputs["leaving"]}[region]
        lines += [f"  {region}: {_state_of(deployed, region)}", f"    {url}"]
    if "domainUrl" in deployed.outputs:
        lines.append(f"domain: {deployed.outputs['domainUrl']}")
    try:
        counters = sorted(registers(deployed.aws, home, layouts).items())
    except ClientError:
        counters = []
        lines.append(f"the layouts table is lost; to recreate it: {command(f'up --stack {stack}')}")
    lines += [f"counter {name}: {phase(register)}" for name, register in counters[:MOST_COUNTERS]]
    if len(counters) > MOST_COUNTERS:
        lines.append(f"… and {len(counters) - MOST_COUNTERS} more counters")
    return "\n".join([*lines, f"alarms: {_alarms(deployed, home)}"])


def _state_of(deployed: Deployed, region: str) -> str:
    names = [name for at, name in deployed.functions() if (at, name) == (region, deployed.names.mint_function)]
    functions = deployed.aws.client("lambda", region)
    try:
        deployed.aws.client("dynamodb", region).describe_table(TableName=deployed.names.counters_table)
        limits = [functions.get_function_concurrency(FunctionName=name) for name in names]
    except ClientError as error:
        if "NotFound" not in error.response.get("Error", {}).get("Code", ""):
            raise
        return f"its table or function is lost; to recreate it: {command(f'up --stack {deployed.stack}')}"
    if any(limit.get("ReservedConcurrentExecutions") == 0 for limit in limits):
        return "paused"
    if region in deployed.outputs["leaving"]:
        return "leaving, mints no longer"
    place: Mapping[str, int] = deployed.outputs["layout"][region]
    return f"mints, offset {place['offset']} of stride {place['stride']}"


def _alarms(deployed: Deployed, home: str) -> str:
    # The server doesn't wait for enough samples of a percentile, as CloudWatch does, so one slow start would go off.
    made = deployed.state.resources.values()
    names = {each.id for each in made if "Alarm" in each.type and not each.inputs.get("extendedStatistic")}
    own: list[tuple[str, str, str]] = []
    for region in dict.fromkeys((home, *deployed.regions)):
        client = deployed.aws.client("cloudwatch", region)
        found = client.describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
        alarms = (*found["MetricAlarms"], *found["CompositeAlarms"])
        own += [(region, alarm["AlarmName"], alarm["StateValue"]) for alarm in alarms if alarm["AlarmName"] in names]
    states = Counter(state for _, _, state in own)
    ringing = [f"{name} in {region}" for region, name, state in own if state == "ALARM"]
    quiet = f"{states['OK']} OK, {states['INSUFFICIENT_DATA']} without data"
    return f"{', '.join(ringing) or 'none is in ALARM'} ({quiet})"


def logs(stack: str, region: str | None, count: int) -> str:
    """Return the last lines that the functions have logged in a region, or in all; the newest last, without metrics."""
    deployed = Deployed(stack)
    only = None if region is None else deployed.checked(region)
    functions = [(at, name) for at, name in deployed.functions() if only in (None, at)]
    events: list[tuple[int, str, str, str]] = []
    for at, function in functions:
        client = deployed.aws.client("logs", at)
        pages = client.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
        with suppress(client.exceptions.ResourceNotFoundException):  # somebody has deleted it
            found = [event for page in pages for event in page["events"]]
            events += [(event.get("timestamp", 0), at, function, event.get("message", "")) for event in found]
    shown = [event for event in events if not event[3].startswith(PLATFORM) and not _is_metrics(event[3])]
    if not shown:
        return f"the functions{f' in {region}' if region else ''} have logged nothing yet: minting logs only errors"
    return "\n".join(
        f"{time.strftime('%H:%M:%S', time.localtime(at / 1000))} {where} {function}: {message.rstrip()}"
        for at, where, function, message in sorted(shown, key=lambda event: event[0])[-count:]
    )


def _is_metrics(message: str) -> bool:
    try:
        return "_aws" in json.loads(message)
    except (ValueError, TypeError):
        return False


def lose(stack: str, region: str | None, *, layouts: bool) -> str:
    """Delete a region's counters table, the layouts table, or both, as if AWS had lost them. Return what was lost."""
    deployed = Deployed(stack)
    lost = [(deployed.home, deployed.names.layouts_table)] if layouts else []
    if region is not None:
        if deployed.checked(region) not in deployed.regions:
            minting = ", ".join(deployed.regions)
            raise LocalError(f"{region}: no counters are minted there; regions with counters are {minting}")
        lost.append((region, deployed.names.counters_table))
    if not lost:
        raise LocalError(f"lose: name a region, or --layouts; the regions are {', '.join(deployed.regions)}")
    for at, table in lost:
        client = deployed.aws.client("dynamodb", at)
        try:
            client.update_table(TableName=table, DeletionProtectionEnabled=False)
            client.delete_table(TableName=table)
        except client.exceptions.ResourceNotFoundException as error:
            up = command(f"up --stack {stack}")
            raise LocalError(f"{table} in {at} is lost already; to recreate it: {up}") from error
        client.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    what = "\n".join(f"lost: table {table} in {at}" for at, table in lost)
    return f"{what}\nto recreate what was lost: {command(f'up --stack {stack}')}"


def check(urls: Mapping[str, str], proxy: str = "") -> None:
    """Run `global-integers check` against regions and their URLs. It prints its result. `proxy`: see `mint`."""
    print("global-integers check", flush=True)
    through = dict.fromkeys(("http_proxy", "HTTP_PROXY"), proxy) | {"no_proxy": "", "NO_PROXY": ""} if proxy else {}
    source, encoding = str(ROOT / "client" / "src"), f"{sys.stdout.encoding or ''}:replace"
    done = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(dict(urls)), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": encoding, **through},
        check=False,
    )
    if done.returncode:
        raise LocalError("the deployment failed its check; what is wrong is printed above")


MINTS = 5

MOVE_TIMEOUT = 15
"""Seconds. The shared name leaves a region out after two failed checks, which are 2 s apart here."""


class Paused(LocalError):
    """A region is in the setting `paused`."""


def mint(url: str, counter: str = "", proxy: str = "") -> int:
    """Return one integer of a counter, by default the default one, from a region's URL.

    If the URL is a name of the domain, `proxy` is the URL of what stands for the domain here.

    Raises:
        LocalError: the URL takes signed requests only.
        Paused: the region takes no requests.
        OSError: there is no response, or one without an integer.
    """
    # No other proxy: whatever the environment says, the URL is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))
    try:
        with opener.open(urllib.request.Request(url + counter, method="POST"), timeout=30) as response:
            return json.load(response)["integer"]
    except urllib.error.HTTPError as error:
        with error:
            body = error.read()
        if error.code == HTTPStatus.TOO_MANY_REQUESTS or body == HTTP_API_FAILED.body:
            raise Paused(f"{url} answers {error.code}: the region is paused, or it has too many requests") from error
        if error.code != HTTPStatus.FORBIDDEN:
            raise
        raise LocalError(
            "the URLs take signed requests only (authorization: AWS_IAM); docs/api.md says how to sign.\n"
            "The demo doesn't sign. To open them, run `up` again as before, but with: -c authorization=NONE"
        ) from error


def mint_everywhere(outputs: Mapping[str, Any], proxy: str = "") -> dict[str, list[int]]:
    """Mint `MINTS` integers in every region, in turn. Return them by region; none of a paused one."""
    minted: dict[str, list[int]] = {region: [] for region in outputs["regions"]}
    for _ in range(MINTS):
        for region, integers in minted.items():
            with suppress(Paused):
                integers.append(mint(outputs["urls"][region], proxy=proxy))
    if not any(minted.values()):
        raise LocalError("all regions are paused: run `up` again as before, but without `paused`")
    return minted


def mint_once_moved(url: str) -> int:
    """Return one integer from the shared name's URL, once it no longer leads to a paused region."""
    deadline = time.monotonic() + MOVE_TIMEOUT
    while time.monotonic() < deadline:
        with suppress(Paused):
            return mint(url)
        time.sleep(0.5)
    return mint(url)


def table(outputs: Mapping[str, Any], minted: Mapping[str, list[int]]) -> str:
    """Return what was minted as a table. Each URL has a line of its own, so a narrow terminal can show the table."""
    rows = [["region", "offset", "stride", "just minted"]]
    for region, integers in minted.items():
        place = outputs["layout"][region]
        rows.append([region, str(place["offset"]), str(place["stride"]), ", ".join(map(str, integers)) or "paused"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["─" * width for width in widths])
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    below = [f"{line}\n  {outputs['urls'][region]}" for line, region in zip(lines[2:], minted, strict=True)]
    return "\n".join([*lines[:2], *below])


def demo(stack: str) -> None:
    """Mint in every region, print a table, and check all regions as a caller sees them."""
    exported = Deployed(stack).outputs
    local = exported.get(LOCAL, "")
    by_name = any(url.startswith("https:") for url in exported["urls"].values())  # there are no Function URLs
    if by_name and not local:
        raise LocalError(f"there are no Function URLs to mint by.\n{how_to(exported).rstrip()}")
    proxy = local if by_name else ""
    # The domain has no TLS here.
    exported["urls"] = {at: url.replace("https://", "http://", 1) for at, url in exported["urls"].items()}
    if local and not DOMAIN.runs():
        raise LocalError("the process that stands for the domain has ended. To start it, run `up` again as before")
    try:
        minted = mint_everywhere(exported, proxy)
        moved = mint_once_moved(local) if local else None
    except OSError as error:
        raise LocalError(f"minting failed: {error}\n{aws_server.SERVICE.log_end()}") from error
    print(f"\n{table(exported, minted)}\n")
    if local:
        print(f"minted at the domain, {local}: {moved}\n")
    exported["urls"] = {region: url for region, url in exported["urls"].items() if minted[region]}
    check(exported["urls"], proxy)
    url = next(iter(exported["urls"].values()))
    print(f"\nmint one more:  curl {f'-x {proxy} ' if proxy else ''}{url}")
    print(f"all outputs:    {command(f'outputs --stack {stack}')}\nend it:         {command('down')}")
    if local:
        paused = f"'paused=[\"{exported['regions'][0]}\"]'"
        print(f"take a region down:  run `up` again as before, with -c {paused} added. Within seconds,")
        print(f"                     the domain answers from the next region: curl {local}")
