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
    def up(counters: str, *more: str) -> str:
        result = fresh.up(REGION, settings=(*SETTINGS, f"counters={counters}", *more))
        return result.stdout + result.stderr if result.returncode == 0 else f"refused: {result.stderr}"

    up('["integers"]')
    assert {*at_root(fresh).values()} == {"integers"}
    for counters in ('["orders", "integers"]', '["orders", "a", "integers"]'):
        assert not up(counters).startswith("refused")
        assert {*at_root(fresh).values()} == {"integers"}
    refused = up('["orders"]')
    assert "defaultCounter: 'integers' is not in counters (orders); set defaultCounter to one of them" in refused
    assert {*at_root(fresh).values()} == {"integers"}
    assert not up('["orders"]', "defaultCounter=orders").startswith("refused")
    assert {*at_root(fresh).values()} == {"orders"}
    assert not up('["orders", "integers"]').startswith("refused"), "it may be changed back"
    assert {*at_root(fresh).values()} == {"integers"}
