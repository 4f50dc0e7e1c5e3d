"""A region that has used up its window asks, and gets more integers long before the schedule's next run."""

import json
import time
from collections.abc import Generator
from typing import Any

import pytest

from local.aws_clients import Aws
from tests.lambda_.coordinate.sample_records import desired_state_document
from tests.local.machine import HANGING, Machine, integers_of, mint, up
from tests.local.registrations import function
from tests.local.registrations import up as apply

REGIONS = ("us-east-1", "eu-west-1")
HOME, OTHER = REGIONS
WINDOW = 1000
SETTINGS = (f"window={WINDOW}", "scheduleMinutes=60", "protect=false")
PREFIX = "global-integers-dev"
COORDINATOR = f"arn:aws:lambda:{HOME}:000000000000:function:{PREFIX}-coordinate"

INVOKES = """
import boto3, json, os
def handler(event, context):
    client = boto3.client("lambda", event["region"], endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    try:
        response = client.invoke(FunctionName=event["function"], Payload=json.dumps(event["event"]))
    except client.exceptions.ClientError as error:
        return str(error)
    return response["Payload"].read().decode()
"""
"""A function that does with its role what it is asked to."""


@pytest.fixture(scope="module")
def waiting(machines: Any) -> Generator[Machine]:
    """A stack with small windows, which no scheduled run enlarges in the next hour."""
    machine = up(machines(), *REGIONS, settings=SETTINGS)
    yield machine
    machine.end()


def patiently(url: str, path: str) -> list[int]:
    """Mint a block as a caller who tries again, if the region can't be granted more within two seconds."""
    ends = time.monotonic() + HANGING
    while True:
        status, document = mint(url, path)
        if status == 200:
            return integers_of(document)
        assert status == 503, document
        assert time.monotonic() < ends, document
        time.sleep(0.2)


def test_who_uses_up_window_after_window_waits_for_seconds_only(waiting: Machine) -> None:
    urls = waiting.outputs()["urls"]
    minted = [integer for _ in range(6) for url in urls.values() for integer in patiently(url, f"?count={WINDOW}")]

    assert len(minted) == len(set(minted)) == 12 * WINDOW


@pytest.fixture
def as_minting(waiting: Machine, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`as_minting(function, event)`: invoke a function by a minting function's role. Return what comes back."""
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(waiting.folder))
    aws = Aws(waiting.endpoint)
    role = f"arn:aws:iam::000000000000:role/{PREFIX}-mint-{OTHER}"
    apply(aws, function("invokes", INVOKES, {}, OTHER, role=role))

    def invoke(name: str, event: dict[str, Any]) -> str:
        payload = json.dumps({"region": HOME, "function": name, "event": event})
        return json.load(aws.client("lambda", OTHER).invoke(FunctionName="invokes", Payload=payload)["Payload"])

    return invoke


def test_a_minting_role_cant_send_what_a_deployment_sends(waiting: Machine, as_minting: Any) -> None:
    before = waiting.outputs()
    events: list[dict[str, Any]] = [
        {"desired": desired_state_document(HOME), "follows": "", "requested": int(time.time())},
        {"schedule": True},
        {"create": ["invoices"]},
        {"check": {"region": HOME, "counter": "integers", "version": "1", "code": "1+f", "build": "3f"}},
        {"back": True},
    ]
    others = (COORDINATOR, *(f"{COORDINATOR}:{other}" for other in ("$LATEST", "1", "deployments")))
    for event in [*events, {"grant": "integers"}]:
        for name in (*others, f"{PREFIX}-coordinate", f"{PREFIX}-mint"):
            assert "AccessDenied" in as_minting(name, event), (name, event)
    for event in events:
        assert "through its alias 'minting'" in as_minting(f"{COORDINATOR}:minting", event), event

    assert json.loads(as_minting(f"{COORDINATOR}:minting", {"grant": "integers"}))["created"] == []
    assert "there is no such counter" in as_minting(f"{COORDINATOR}:minting", {"grant": "invoices"})
    assert mint(waiting.outputs()["urls"][OTHER], "invoices")[0] == 404
    assert waiting.outputs() == before
