"""A stack on a local AWS server of its own: its deployments, the coordinator's runs, its tables, lost and restored.

`python -m chaos.stack` ends the server when its parent ends, even if the parent is killed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
from botocore.exceptions import BotoCoreError, ClientError

from components.settings.names import ResourceNames
from integers.lattice import Layout
from integers.records import counter_of, regions_of
from local.apigateway import GATEWAY
from local.apigateway import running as running_gateway
from local.paths import ROOT, state_folder
from local.server import server

from .deployment import StackAws
from .proxy import Faults, Proxy

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient

STACK = "dev"
HOME = "us-east-1"
REGIONS = (HOME, "eu-west-1", "ap-southeast-2", "us-west-2", "sa-east-1")
"""All regions that the stack may have."""

NAMES = ResourceNames(f"global-integers-{STACK}")
DEPLOYMENT_TIMEOUT = 600
"""Seconds after which a deployment is killed."""

WAIT: Any = {"Delay": 1, "MaxAttempts": 30}


class Backup(NamedTuple):
    """A table's description and items at a moment."""

    description: Mapping[str, Any]
    items: list[dict[str, Any]]


def back_up(client: "DynamoDBClient", table: str) -> Backup:
    """Return the table as it is now."""
    description: Any = client.describe_table(TableName=table)["Table"]
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return Backup(description, [dict(item) for page in pages for item in page["Items"]])


def lose(client: "DynamoDBClient", table: str) -> None:
    """Delete the table with all that is in it."""
    client.delete_table(TableName=table)
    client.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig=WAIT)


def tables_of(client: "DynamoDBClient", prefix: str) -> list[str]:
    """Return the names of all tables that begin so."""
    pages = client.get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"] if name.startswith(prefix)]


def restore(client: "DynamoDBClient", backup: Backup) -> None:
    """Make a table of the same name, which must not exist, with what the backup holds.

    Like a restored table on AWS, it has another id. (A server's own backups aren't used: DynamoDB Local has none.)
    """
    description = backup.description
    table = description["TableName"]
    stream = description.get("StreamSpecification", {"StreamEnabled": False})
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=description["KeySchema"],
        AttributeDefinitions=description["AttributeDefinitions"],
        StreamSpecification=stream,
    )
    client.get_waiter("table_exists").wait(TableName=table, WaiterConfig=WAIT)
    for item in backup.items:
        client.put_item(TableName=table, Item=item)


class RunFailed(Exception):
    """A deployment or a run of the coordinator failed. The message is what its user sees."""


@dataclass
class Stack:
    """The deployed stack. It has a state folder and a port of its own."""

    folder: Path
    server: server.Server
    proxy: Proxy
    aws: StackAws
    """Clients without faults."""
    entries: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Region, `function` or `gateway`, and URL, of the last successful deployment."""

    def deploy(self, settings: Mapping[str, Any], kill_after: float | None = None) -> None:
        """Deploy the program in a process of its own, as `pulumi up` would.

        Args:
            settings: setting → value.
            kill_after: seconds after which the process is killed.

        Raises:
            RunFailed: the deployment failed or was killed.
        """
        given = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "chaos.deployment", self.server.endpoint, STACK, *given],
                cwd=ROOT,
                env={**os.environ, "GLOBAL_INTEGERS_LOCAL": str(self.folder)},
                capture_output=True,
                text=True,
                timeout=kill_after or DEPLOYMENT_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunFailed("the deployment was killed") from None
        if done.returncode:
            raise RunFailed(done.stderr.strip() or f"the deployment ended with status {done.returncode}")
        outputs = json.loads(done.stdout.splitlines()[-1])
        self.entries = [(region, "function", url) for region, url in outputs["urls"].items()]
        self.entries += [(region, "gateway", url) for region, url in outputs["gatewayUrls"].items()]

    def doors(self, kind: str) -> list[tuple[str, str, str]]:
        """Return the entries of a kind."""
        return [entry for entry in self.entries if entry[1] == kind]

    def watch(self) -> dict[str, Any]:
        """Run the coordinator as the schedule does, and return its reply.

        Raises:
            RunFailed: it refused or failed.
        """
        function = NAMES.coordinate_function
        try:
            response = self.aws.client("lambda", HOME).invoke(FunctionName=function, Payload=b'{"watch": true}')
            reply: dict[str, Any] = json.loads(response["Payload"].read() or b"null") or {}
        except (ClientError, BotoCoreError, ValueError) as error:
            raise RunFailed(str(error)) from None
        if "FunctionError" in response:
            raise RunFailed(str(reply.get("errorMessage", reply)))
        return reply

    def layouts(self) -> dict[str, Layout]:
        """Return every counter's present layout, as its register in the home region has it."""
        registers = back_up(self.aws.client("dynamodb", HOME), NAMES.layouts_table).items
        return {
            item["counter"]["S"]: Layout(int(item["epoch"]["N"]), int(item["base"]["N"]), regions_of(item["regions"]))
            for item in registers
            if counter_of(item["counter"]["S"])
        }

    def functions(self, name: str) -> list[psutil.Process]:
        """Return the processes in which a function has started, in all regions.

        They have called DynamoDB, and keep that connection. If one ends while it starts, ministack ends all processes
        of that function, also those that are starting, and so on.
        """
        mark = f"{self.folder}/tmp/ministack-lambda-{name}-"
        found = psutil.process_iter(["cmdline"])
        return [one for one in found if mark in " ".join(one.info["cmdline"] or ()) and _has_socket(one)]


def _has_socket(process: psutil.Process) -> bool:
    try:
        return bool(process.net_connections())
    except psutil.Error:  # it has ended
        return False


@contextmanager
def running_stack(faults: Faults) -> Generator[Stack]:
    """Start a server and a gateway that reach DynamoDB through a proxy; end them with the block, whatever happens.

    `CHAOS_DYNAMODB` is the endpoint of another DynamoDB than the server's own.

    Args:
        faults: those that the proxy injects.
    """
    dynamodb = os.environ.get("CHAOS_DYNAMODB") or None
    proxy = Proxy(faults, dynamodb)
    with proxy.listening(), tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as folder:
        os.environ["GLOBAL_INTEGERS_LOCAL"] = folder
        command = [sys.executable, "-m", "chaos.stack"]
        guard = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
        try:
            # The functions inherit it. Their calls of Lambda, and the server's own, don't go through the proxy.
            started = server.start(0, {"AWS_ENDPOINT_URL_DYNAMODB": proxy.endpoint})
            proxy.server = started.endpoint
            running_gateway(proxy.endpoint)
            stack = Stack(Path(folder), started, proxy, StackAws(started.endpoint, dynamodb))
            with _tables_of_its_own(stack) if dynamodb else nullcontext():
                yield stack
        finally:
            _end_services()
            guard.communicate()  # it sees that its input has ended, and ends


@contextmanager
def _tables_of_its_own(stack: Stack) -> Generator[None]:
    """Leave nothing in a DynamoDB that lives longer than the stack.

    Raises:
        SystemExit: it has tables of these names, of another stack or of a run that was killed.
    """

    def found() -> list[tuple[str, str]]:
        clients = {region: stack.aws.client("dynamodb", region) for region in REGIONS}
        return [(region, table) for region, client in clients.items() for table in tables_of(client, NAMES.prefix)]

    if there := found():
        listed = ", ".join(f"{region} {table}" for region, table in there)
        raise SystemExit(f"CHAOS_DYNAMODB must have no tables of these names; delete them: {listed}")
    try:
        yield
    finally:
        _end_services()
        for region, table in found():
            lose(stack.aws.client("dynamodb", region), table)


def _end_services() -> None:
    """End what was started in the state folder, if it runs. It keeps nothing, so it is killed."""
    for service in (GATEWAY, server.SERVICE):
        recorded = service.recorded()
        if recorded and service.alive(recorded[0]):
            with suppress(ProcessLookupError):
                os.killpg(recorded[0], signal.SIGKILL)  # it leads a group, and the functions belong to that
        service.stop()


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until `condition()` is true. Return whether it became so in time."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()  # until the parent ends
    _end_services()
    shutil.rmtree(state_folder(), ignore_errors=True)
