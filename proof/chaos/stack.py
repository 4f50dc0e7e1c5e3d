"""A stack on a local AWS server of its own: deployments and runs of the coordinator, repeated until they succeed.

Its tables are lost and restored here, and its functions' processes killed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from subprocess import PIPE
from threading import Event
from typing import Any, NamedTuple

import psutil
from botocore.exceptions import BotoCoreError, ClientError

from components.names import ResourceNames
from global_integers_core.names import DEPLOYMENTS_ALIAS
from local.apigateway import running as running_gateway
from local.aws_clients import Aws
from local.paths import ROOT
from local.server import aws_server
from local.stack import State

from .history import History
from .proxy import Proxy

STACK = "dev"
HOME = "us-east-1"
REGIONS = (HOME, "eu-west-1", "ap-southeast-2", "us-west-2", "sa-east-1")
"""All regions that the stack may have."""

NAMES = ResourceNames(f"global-integers-{STACK}")
DEPLOYMENT_TIMEOUT = 600
"""Seconds after which a deployment is killed."""

COUNTERS = ("integers", "orders")
SETTINGS = {
    "counters": COUNTERS,
    "apiGateway": True,
    "window": 20_000,
    "scheduleMinutes": 60,
}
"""The settings of every deployment, unless an event has others.

The window is small, so that limits are raised often and gaps stay small. The stack's own schedule
is slow, so that the runs that are made here are the only ones.
"""

END = 'cat; GLOBAL_INTEGERS_LOCAL="$1" "$0" -m local down >/dev/null; rm -rf "$1"'
"""Run by a shell, it waits until this process has ended or been killed, and ends what that has started."""

ATTEMPTS = 8
"""How many deployments or runs of the coordinator are made until something must have healed."""

PATIENCE = 150.0
"""Seconds for which a run that was killed may hold up the next one."""

KILLS_EVERY = 1.0
"""Seconds between two kills, on average."""

COORDINATORS = 0.05
"""The share of kills that hit the coordinator."""


class Backup(NamedTuple):
    """What creates a table again, and its items at a moment."""

    description: Mapping[str, Any]
    items: list[dict[str, Any]]


class RunFailed(Exception):
    """A deployment or a run of the coordinator failed. The message is what its user sees."""


class NotHealed(Exception):
    """Something was not repaired. The message says what, and what the coordinator said."""


@dataclass
class Stack:
    """The deployed stack. It has a state folder and a port of its own."""

    folder: Path
    proxy: Proxy
    aws: Aws
    """Clients without faults."""
    history: History
    say: Callable[[str], None]
    desired: dict[str, Any] = field(default_factory=SETTINGS.copy)
    """The settings of the last deployment that was to succeed."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """Deployments and runs that failed, by kind."""
    entries: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Region, `function` or `gateway`, and URL, of the last successful deployment."""

    def lose(self, region: str, table: str) -> None:
        """Delete a table with all that is in it. These servers have it gone at once."""
        self.aws.client("dynamodb", region).delete_table(TableName=table)

    def deploy(self, **settings: Any) -> None:
        """Deploy until it succeeds, or raise `NotHealed`. Settings that aren't given stay."""
        self.desired |= settings
        self._until("deployment", lambda: self.deploy_once(self.desired))

    def reconcile(self) -> None:
        """Run the coordinator until every region that can be reached has followed, or raise `NotHealed`."""
        self._until("run of the coordinator", self._reconcile_once)

    def deploy_once(self, settings: Mapping[str, Any], kill_after: float | None = None) -> None:
        """Deploy the program by a command of its own, as `pulumi up` would, or raise `RunFailed`.

        It is killed after so many seconds.
        """
        command = [sys.executable, "-m", "local", "up", "--stack", STACK]
        for key, value in settings.items():
            command += ["-c", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        limit = kill_after or DEPLOYMENT_TIMEOUT
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise RunFailed("the deployment was killed") from None
        if done.returncode:
            raise RunFailed(done.stderr.strip() or f"the deployment ended with status {done.returncode}")
        outputs = State(STACK).outputs
        kinds = {"function": outputs["urls"], "gateway": outputs["gatewayUrls"]}
        self.entries = [(region, kind, url) for kind, urls in kinds.items() for region, url in urls.items()]

    def scheduled_run(self) -> dict[str, Any]:
        """Run the coordinator as the schedule does. Return its reply, or raise `RunFailed` if it refused or failed."""
        function, alias, event = NAMES.coordinate_function, DEPLOYMENTS_ALIAS, b'{"schedule": true}'
        try:
            client = self.aws.client("lambda", HOME)
            response = client.invoke(FunctionName=function, Qualifier=alias, Payload=event)
            reply: dict[str, Any] = json.loads(response["Payload"].read() or b"null") or {}
        except (ClientError, BotoCoreError, ValueError) as error:
            raise RunFailed(str(error)) from None
        if "FunctionError" in response:
            raise RunFailed(str(reply.get("errorMessage", reply)))
        return reply

    def _reconcile_once(self) -> str:
        """Make one run, and return what is left to do. It ends the excepted time of the restored tables it handled."""
        patience = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            reply = self.scheduled_run()
            if "skipped" not in reply:
                break
            self.failed["run skipped"] += 1
            if time.monotonic() > patience:
                raise RunFailed(str(reply))
            time.sleep(1)
        pending, unfinished = {*reply.get("pending", ())}, bool(reply.get("unfinished"))
        for restoration in self.history.restorations:
            if restoration.began <= began and restoration.region not in pending and not unfinished:
                restoration.ended = min(restoration.ended, time.monotonic())
        unexpected = pending - self.proxy.without_answers
        return f"pending: {', '.join(sorted(pending))}; {reply}" if unfinished or unexpected else ""

    def _until(self, what: str, run: Callable[[], str | None]) -> None:
        said: str | None = None
        for _ in range(ATTEMPTS):
            try:
                said = run()
            except RunFailed as failure:
                said = str(failure)
                self.failed[what] += 1
                # The message's first line, or the last one of a traceback.
                self.say(f"{what} failed: {said.splitlines()[-1 if 'Traceback' in said else 0][:200]}")
            if not said:
                return
            time.sleep(0.2)
        raise NotHealed(f"no {what} has succeeded in {ATTEMPTS} attempts: {said}")

    def targets(self, region: str = "", kind: str = "") -> list[tuple[str, str, str]]:
        """Return the entries of a region and kind, by default all."""
        return [entry for entry in self.entries if region in ("", entry[0]) and kind in ("", entry[1])]

    def back_up(self, region: str, table: str) -> Backup:
        """Return a table as it is now."""
        client: Any = self.aws.client("dynamodb", region)
        described = client.describe_table(TableName=table)["Table"]
        names = ("TableName", "KeySchema", "AttributeDefinitions", "StreamSpecification")
        items = client.scan(TableName=table, ConsistentRead=True)["Items"]
        return Backup({name: described[name] for name in names if name in described}, items)

    def restore(self, region: str, backup: Backup) -> None:
        """Make a table of the same name, which must not exist, with what the backup holds.

        Like a restored table on AWS, it has another id.
        """
        client: Any = self.aws.client("dynamodb", region)
        client.create_table(BillingMode="PAY_PER_REQUEST", **backup.description)
        for item in backup.items:
            client.put_item(TableName=backup.description["TableName"], Item=item)

    def kill_functions(self, random: Random, stop: Event, share: float) -> None:
        """Kill a function's process now and then, until `stop`. A `share` of the kills hits the coordinator.

        Only processes that have called DynamoDB, and keep that connection, are killed. If one ends while it starts,
        ministack ends all processes of that function, also those that are starting, and so on.
        """
        while not stop.wait(random.expovariate(1 / KILLS_EVERY)):
            name = NAMES.coordinate_function if random.random() < share else NAMES.mint_function
            mark = f"{self.folder}/tmp/ministack-lambda-{name}-"
            found = psutil.process_iter(["cmdline"])
            with suppress(psutil.Error):  # one has ended meanwhile
                started = [one for one in found if mark in " ".join(one.info["cmdline"] or ())]
                if calling := [one for one in started if one.net_connections()]:
                    random.choice(calling).kill()
                    self.proxy.injected["functions killed"] += 1


@contextmanager
def running_stack(
    random: Random, by_chance: Iterable[str], history: History, say: Callable[[str], None]
) -> Generator[Stack]:
    """Start a server and a gateway that reach DynamoDB through a proxy; end them with the block, whatever happens."""
    with (
        Proxy(random, by_chance) as proxy,
        tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as folder,
        subprocess.Popen(["sh", "-c", END, sys.executable, folder], cwd=ROOT, stdin=PIPE, start_new_session=True),
    ):
        os.environ["GLOBAL_INTEGERS_LOCAL"] = folder
        # The functions inherit it. Their calls of Lambda, and the server's own, don't go through the proxy.
        started = aws_server.start(0, {"AWS_ENDPOINT_URL_DYNAMODB": proxy.url})
        proxy.server = started.endpoint
        running_gateway(proxy.url)
        yield Stack(Path(folder), proxy, Aws(started.endpoint), history, say)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until `condition()` is true. Return whether it became so in time."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True
