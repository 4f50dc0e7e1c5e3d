"""What `/` mints from: the counter that the settings name, in whatever order they list the counters."""

import pytest

from tests.local.machine import Machine, mint

pytestmark = pytest.mark.long

REGION = "us-east-1"
SETTINGS = (
    "apiGateway=true",
    "domain=integers.example.com",
    "hostedZone=example.com",
    "authorization=NONE",
    "protect=false",
)


def at_root(machine: Machine) -> dict[str, str]:
    """Mint one integer at `/` of every URL, and return their counters."""
    outputs = machine.outputs()
    urls = {name: outputs[name][REGION] for name in ("urls", "gatewayUrls")}
    urls |= {name: outputs[name] for name in ("localDomainUrl", "localDomainGatewayUrl") if name in outputs}
    answers = {output: mint(url) for output, url in urls.items()}
    assert {status for status, _ in answers.values()} == {200}, answers
    assert {document["counter"] for _, document in answers.values()} == {outputs["defaultCounter"]}
    return {output: document["counter"] for output, (_, document) in answers.items()}


def test_no_order_of_counters_changes_what_callers_get(fresh: Machine) -> None:
    def up(*settings: str) -> set[str]:
        result = fresh.up(REGION, settings=(*SETTINGS, *settings))
        assert result.returncode == 0, result.stderr
        return {*at_root(fresh).values()}

    assert up('counters=["integers"]') == {"integers"}
    assert up('counters=["orders", "integers"]') == {"integers"}
    assert up('counters=["orders", "integers"]', "defaultCounter=orders") == {"orders"}
