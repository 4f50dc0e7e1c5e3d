"""The page on the domain: its figures are the program's, its sums are right, its program signs for all regions."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from components.domain.capacity import CHECKERS, HEALTH_RATES, HEALTH_SHARE, PER_EXECUTION, capacity
from components.domain.dns import FAILURES, INTERVAL, ISSUED_WITHIN
from components.settings import PUBLIC_CONCURRENCY
from local.domain.domain_server import INTERVAL as LOCAL_INTERVAL
from local.paths import ROOT
from proof.faulty_server import Request, Response, Server, json_response
from tests.components.running import HOME, config, settings
from tests.docs.test_defaults import DEFAULTS

PAGE = (ROOT / "docs" / "domain.md").read_text()

REQUESTS = CHECKERS / INTERVAL * 86_400 * 30 / 1_000_000
"""Million requests of the checkers to a region in thirty days."""

GB_SECONDS = 0.005 * DEFAULTS["memorySize"] / 1024
"""Of one request."""


def rows() -> list[tuple[str, list[str]]]:
    """Return the rows of prices, with their names."""
    found = re.findall(r"^\| (.*?) \| \$(\S+) \| \$(\S+) \|$", PAGE, re.MULTILINE)
    return [(name, prices) for name, *prices in found]


def test_integers_and_regions_cost_what_their_parts_cost() -> None:
    performance = (ROOT / "docs" / "performance.md").read_text()
    (alone,) = re.findall(r"\| function, one integer per request \|.*\| \$(\S+) \|\n", performance)
    api_gateway = [1.00, 3.50]
    requests = [round(REQUESTS * price, 2) for price in api_gateway]
    other = (
        0.50 + 1 + 1  # the health check
        + REQUESTS * (0.20 + 1_000_000 * GB_SECONDS * 0.0000133334)  # Lambda
        + REQUESTS * 0.125  # DynamoDB
    )  # fmt: skip

    assert rows() == [
        ("a million integers", [f"{float(alone) + price:.2f}" for price in api_gateway]),
        ("*of that, API Gateway*", [f"{price:.2f}" for price in api_gateway]),
        ("each region, a month of 30 days", [f"{price + other:.2f}" for price in requests]),
        ("*of that, API Gateway*", [f"{price:.2f}" for price in requests]),
    ]
    assert f"{REQUESTS:.1f} million health checks a month, from about {CHECKERS} checkers" in PAGE


def test_the_times_are_the_programs() -> None:
    assert FAILURES == 2
    assert f"every {INTERVAL} seconds from many places" in PAGE
    assert "when two requests in a row have failed" in PAGE
    assert f"{INTERVAL} to {FAILURES * INTERVAL} s until the region fails two checks" in PAGE
    assert f"every {LOCAL_INTERVAL:g} seconds instead of every {INTERVAL}" in PAGE


def test_the_wait_is_the_programs() -> None:
    assert f"waits for it for up to {ISSUED_WITHIN} minutes" in PAGE


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("`NONE`", {"authorization": "NONE"}),
        ("`NONE`, `reservedConcurrency: 100`", {"authorization": "NONE", "reservedConcurrency": 100}),
        ("`AWS_IAM`", {}),
        ("`AWS_IAM`, `reservedConcurrency: 100`", {"reservedConcurrency": 100}),
    ],
)
def test_the_capacities_are_the_programs(name: str, values: dict[str, Any]) -> None:
    limits = capacity(settings(config(HOME, **values)), HOME)
    callers = f"{limits.callers.rate:,}" + (" for `/`, and as many for other paths" if "`AWS_IAM`" in name else "")

    assert f"| {name} | {callers} | {limits.health.rate} |" in PAGE


def test_the_rule_of_the_capacity_is_the_programs() -> None:
    assert HEALTH_SHARE == 5
    assert f"{PER_EXECUTION} requests per second for each reserved execution" in PAGE
    assert f"a fifth of that, {HEALTH_RATES[0]} to {HEALTH_RATES[1]} per second" in PAGE
    assert f"{PUBLIC_CONCURRENCY} with `NONE`" in PAGE
    assert f"{1000 // PER_EXECUTION} ms" in PAGE


def test_its_settings_exist() -> None:
    settings = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]

    assert {"domain", "hostedZone", "functionUrls"} <= set(settings)
    assert set(re.findall(r"config set (\w+)", PAGE)) <= set(settings)


def test_its_program_signs_for_all_regions() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    async def seven(_: Request) -> Response:
        return json_response({"integer": 7})

    with Server(seven) as server:
        done = subprocess.run(
            [sys.executable, "-c", program.replace("https://integers.example.com/", f"{server.url}/")],
            env={"AWS_ACCESS_KEY_ID": "caller", "AWS_SECRET_ACCESS_KEY": "secret"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"integer": 7}
    headers = server.requests[0].headers
    assert headers["x-amz-region-set"] == "*"
    assert headers["authorization"].startswith("AWS4-ECDSA-P256-SHA256 Credential=caller/")
    assert "/execute-api/aws4_request" in headers["authorization"]
