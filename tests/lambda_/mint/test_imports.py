"""A cold start loads no SDK, and nothing slow before it is needed. `lambda/mint/__init__.py` has the figures."""

import json
import os
import subprocess
import sys
from functools import cache

import pytest

from local.paths import ROOT

NEVER = {"boto3", "botocore", "urllib3", "http.client", "email", "urllib.request", "dataclasses", "inspect", "datetime"}
LATER = {
    *("logging", "random", "ssl", "urllib.parse", "global_integers_core.lattice", "global_integers_core.records"),
    *("mint.permissions", "mint.counters", "mint.grants", "mint.leases", "mint.owner", "mint.receipts"),
    *("mint.api.problems", "mint.api.pages", "aws_client.invocation", "aws_client.meaning"),
}


def loaded(program: str, **environment: str) -> set[str]:
    """Return the modules that a new interpreter has after `program`, with the environment of a function."""
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"{program}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{ROOT / 'lambda'}:{ROOT}",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "COUNTERS_TABLE": "counters",
            "RECEIPTS_TABLE": "receipts",
            "IDEMPOTENCY_HOURS": "1",
            "DEFAULT_COUNTER": "integers",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(run.stdout))


@cache
def loaded_by_an_error() -> frozenset[str]:
    """Return what `logging` and `random` load themselves: on Python 3.14 `dataclasses` and `inspect`, for example."""
    return frozenset(loaded("import logging, random"))


@pytest.mark.parametrize(
    ("environment", "needed"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, set[str]()),
        ({}, {"ssl"}),  # TLS is ready when the function is
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "CALLERS": '{"*": ["*"]}'}, {"mint.permissions"}),
    ],
)
def test_a_cold_start_loads_nothing_slow(environment: dict[str, str], needed: set[str]) -> None:
    modules = loaded("import mint.handler", **environment)

    assert "mint.handler" in modules
    assert modules & (NEVER | LATER) == needed


def test_nothing_ever_loads_the_sdk() -> None:
    modules = loaded("import " + ", ".join({"mint.handler", *LATER}))

    assert modules >= LATER
    assert not modules & NEVER - loaded_by_an_error()


@pytest.mark.parametrize(
    ("headers", "query", "needed"),
    [({}, "", set[str]()), ({}, "count=2", {"urllib.parse"}), ({"idempotency-key": "k"}, "", {"mint.receipts"})],
)
def test_a_request_loads_what_it_needs(headers: dict[str, str], query: str, needed: set[str]) -> None:
    sent = {"requestContext": {"http": {"method": "POST"}}, "rawPath": "/", "headers": headers, "rawQueryString": query}
    # No time is left, so the call fails before a connection is made. This error is logged, after retries.
    modules = loaded(
        "import types, mint.handler\n"
        "context = types.SimpleNamespace(get_remaining_time_in_millis=lambda: 0)\n"
        f"assert mint.handler.handler({sent!r}, context)['statusCode'] == 503",
        AWS_ENDPOINT_URL="http://127.0.0.1:1",
    )

    to_refuse = {"mint.api.problems", "global_integers_core.lattice"}
    assert modules & (NEVER | LATER) - loaded_by_an_error() == needed | to_refuse
