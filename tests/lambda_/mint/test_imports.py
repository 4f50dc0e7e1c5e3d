"""What a cold start loads: no SDK, and nothing slow before it is needed (`lambda/mint/__init__.py` has the figures)."""

import json
import os
import subprocess
import sys

import pytest

from local.paths import ROOT

NEVER = {"boto3", "botocore", "urllib3", "http.client", "email", "urllib.request", "dataclasses", "inspect", "datetime"}
LATER = {
    "logging",
    "random",
    "ssl",
    "urllib.parse",
    "mint.counters",
    "aws.invocation",
    "mint.http.page",
    "mint.receipts",
    "mint.whose",
}


def loaded(program: str, **environment: str) -> set[str]:
    """The modules that a new interpreter has after `program`, in Lambda's surroundings."""
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


def test_a_cold_start_loads_nothing_slow() -> None:
    modules = loaded("import mint.handler", AWS_ENDPOINT_URL="http://127.0.0.1:1")

    assert "mint.handler" in modules
    assert modules & (NEVER | LATER) == set()


def test_tls_is_ready_when_the_function_is() -> None:
    modules = loaded("import mint.handler")

    assert "ssl" in modules
    assert modules & (NEVER | LATER) == {"ssl"}


@pytest.mark.parametrize(
    ("headers", "query", "needed"),
    [({}, "", set[str]()), ({}, "count=2", {"urllib.parse"}), ({"idempotency-key": "k"}, "", {"mint.receipts"})],
)
def test_a_request_loads_what_it_needs(headers: dict[str, str], query: str, needed: set[str]) -> None:
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": "/",
        "headers": headers,
        "rawQueryString": query,
    }
    # No time is left, so it is refused before a connection is made, and that is logged.
    modules = loaded(
        "import types, mint.handler\n"
        "context = types.SimpleNamespace(get_remaining_time_in_millis=lambda: 0)\n"
        f"assert mint.handler.handler({event!r}, context)['statusCode'] == 503",
        AWS_ENDPOINT_URL="http://127.0.0.1:1",
    )

    assert modules & (NEVER | LATER) - {"logging", "random"} == needed


def test_no_file_of_the_function_names_the_sdk() -> None:
    for file in (ROOT / "lambda" / "mint").glob("*.py"):
        code = [line for line in file.read_text().splitlines() if line.lstrip().startswith(("import ", "from "))]
        assert not [line for line in code if "boto" in line], file
