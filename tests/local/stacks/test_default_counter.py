"""What `/` mints from: the same counter however often the settings are changed, until they name another one."""

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
    assert "counters: / mints from 'integers', which isn't in the list." in refused
    assert {*at_root(fresh).values()} == {"integers"}
    assert not up('["orders"]', "defaultCounter=orders").startswith("refused")
    assert {*at_root(fresh).values()} == {"orders"}
    assert "/ was changed from 'integers' to 'orders', so the settings must" in up('["integers", "orders"]')
    assert not up('["integers", "orders"]', "defaultCounter=orders").startswith("refused")
    assert {*at_root(fresh).values()} == {"orders"}
