"""The user's environment: what is for other machines has no effect here, and a folder that can't be used is named."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPException
from itertools import zip_longest
from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.environment import isolate
from local.paths import FREE_SPACE, ROOT
from tests.local.machine import HANGING, Machine, mint, processes_of

NOWHERE = "/dev/null/nowhere"
NO_SETTINGS = str(ROOT / "Makefile")
PROXIES = ["http://127.0.0.1:9", "http://[::1", "socks5://127.0.0.1:9", "none", "http://[::1]:99999"]

URLS = ["http://127.0.0.1:9", "://"]
LISTS = ["[::1]", "[::1", "::1", "*", "http://"]

VARIABLES: dict[str, list[str]] = {
    **{name: ["nonesuch"] for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_DEFAULTS_MODE", "AWS_RETRY_MODE")},
    **{name: [NO_SETTINGS, NOWHERE] for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE")},
    **{name: ["wrong"] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")},
    "AWS_DATA_PATH": [NOWHERE],
    "AWS_REGION": ["nowhere-1"],
    "AWS_DEFAULT_REGION": ["nowhere-1", "://"],
    **dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_LAMBDA"), URLS),
    **{name: ["true", "perhaps"] for name in ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")},
    "AWS_MAX_ATTEMPTS": ["0", "many"],
    **{name: ["nonesuch"] for name in ("AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION")},
    "AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES": ["-1", "many"],
    **{name: ["nonesuch"] for name in ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "AWS_AUTH_SCHEME_PREFERENCE")},
    "AWS_STS_REGIONAL_ENDPOINTS": ["nonesuch"],
    "AWS_CSM_ENABLED": ["true"],
    "AWS_CSM_PORT": ["none"],
    "BOTOCORE_TCP_KEEPALIVE": ["perhaps"],
    "SSL_CERT_FILE": [NOWHERE, NO_SETTINGS, str(ROOT)],
    "SSLKEYLOGFILE": [NOWHERE, str(ROOT)],
    **{name: [NOWHERE, NO_SETTINGS] for name in ("SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")},
    **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), PROXIES),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), LISTS),
    "PULUMI_CONFIG": ["{", '{"other:lease": "2"}', '{"global-integers:leese": "2"}'],
    "PULUMI_CONFIG_SECRET_KEYS": ["{"],
}
"""Variable → values that are wrong here, each in another way."""

OF_SDK = [(name, value) for name, values in VARIABLES.items() for value in values if name.startswith(("AWS", "BOTO"))]

ROUNDS = [
    {name: value for name, value in zip(VARIABLES, values, strict=True) if value is not None}
    for values in zip_longest(*VARIABLES.values())
]
"""Environments with as many wrong values at once as possible. Each value of the table is in one of them."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), OF_SDK)
def test_the_servers_clients_ignore_a_setting_of_aws(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    client = Aws("http://127.0.0.1:9").client("sts", "eu-west-1")

    assert (client.meta.endpoint_url, client.meta.region_name) == ("http://127.0.0.1:9", "eu-west-1")


def test_what_is_for_other_machines_is_removed_and_all_else_stays() -> None:
    needed = {"PATH": "/bin", "HOME": "/home/user", "GLOBAL_INTEGERS_LOCAL": "/state", "LANG": "C"}
    for wrong in ROUNDS:
        environment = needed | wrong

        isolate(environment)

        assert environment == needed | {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


PRINTED = """
import os, runpy, sys
try:
    runpy.run_module(sys.argv[1], run_name="__main__", alter_sys=True)
except SystemExit:
    pass
print(*sorted(os.environ))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "module", ["local", "proof.bench", "proof.bench.price", "proof.bench.reconcile", "proof.chaos"]
)
def test_a_run_begins_without_what_is_for_other_machines(module: str) -> None:
    shown = started(["-c", PRINTED, module, "--help"], {**os.environ, **ROUNDS[0]})

    left = shown.stdout.splitlines()[-1].split()
    assert "PATH" in left
    assert set(left) & VARIABLES.keys() == {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"}


def run(machine: Machine, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own, with these variables."""
    return started(["-m", "local", *arguments], {**machine.environment, **variables})


def started(arguments: list[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANGING)


@pytest.mark.long
@pytest.mark.parametrize("wrong", [*ROUNDS, {"PYTHONIOENCODING": "ascii"}])
def test_the_demo_works_whatever_the_environment_says(small: Machine, wrong: dict[str, str]) -> None:
    shown = run(small, "demo", **wrong)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "integers minted; no problems" in shown.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("up", "-c", 'regions=["us-east-1"]'), " unchanged\n"),
        (("preview", "-c", 'regions=["us-east-1", "eu-west-1"]'), " to create"),
        (("status",), "us-east-1: mints"),
        (("outputs", "coordinator"), "global-integers-dev-coordinate\n"),
        (("logs",), "created"),
    ],
)
def test_a_command_works_whatever_the_environment_says(small: Machine, arguments: tuple[str, ...], shown: str) -> None:
    result = run(small, *arguments, **ROUNDS[0])

    assert (result.returncode, result.stderr) == (0, "")
    assert shown in result.stdout


def test_a_machine_is_started_and_ended_in_any_environment(fresh: Machine) -> None:
    assert run(fresh, *fresh.command("us-east-1"), **ROUNDS[1]).stderr == ""
    assert mint(fresh.outputs()["urls"]["us-east-1"])[0] == 200
    assert run(fresh, "lose", "us-east-1", **ROUNDS[1]).stderr == ""
    assert run(fresh, "down", **ROUNDS[1]).stdout == "ended; everything minted here is forgotten\n"
    assert processes_of(fresh.folder) == []


COMMANDS = [("up", "--port", "0"), ("outputs",), ("status",), ("demo",), ("down",)]


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("folder", "why"),
    [("file", "File exists"), ("file/below/it", "Not a directory"), ("x" * 300, "File name too long")],
    ids=["a file", "below a file", "a long name"],
)
def test_a_state_folder_that_cant_be_made_is_named(
    tmp_path: Path, command: tuple[str, ...], folder: str, why: str
) -> None:
    (tmp_path / "file").touch()

    result = Machine(tmp_path / folder).run(*command)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: {tmp_path / folder}: {why}. All that runs here is recorded in {tmp_path / folder}, which must be a "
        "folder that this user may write to: make it one, or set the environment variable GLOBAL_INTEGERS_LOCAL to "
        "another folder\n"
    )
    assert processes_of(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", ["lock", "server.json", "server.log", "server.new", "dev.json"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, file: str) -> None:
    (tmp_path / file).mkdir()

    result = Machine(tmp_path).run("up", "--port", "0")

    assert (result.returncode, result.stdout) == (1, "")
    assert f"error: {tmp_path / file}: Is a directory. A file is kept there: remove what is in its way" in result.stderr
    assert processes_of(tmp_path) == []


@pytest.mark.server
def test_a_full_disk_is_named_and_nothing_is_lost(fresh: Machine) -> None:
    def limited(size: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command whose files have at most so many bytes."""
        code = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        code += "os.execv(sys.executable, [sys.executable, '-m', 'local', *sys.argv[1:]])"
        return started(["-c", code, *arguments], fresh.environment)

    none = limited(0, *fresh.command("us-east-1"))
    assert none.returncode == 1
    assert "No usable temporary directory found in [" in none.stderr
    assert none.stderr.endswith("]: free space in one of them, or set TMPDIR to another folder\n")

    first = limited(10, *fresh.command("us-east-1"))
    problem = f"error: {fresh.folder}/server.new: File too large. {FREE_SPACE}\n"
    assert (first.returncode, first.stdout, first.stderr) == (1, "", problem)
    assert processes_of(fresh.folder) == [], "a server without a record would never be ended"

    assert fresh.up("us-east-1").returncode == 0
    minted = mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"]
    changed = limited(1000, *fresh.command("us-east-1", settings=("memorySize=512",)))
    problem = f"error: {fresh.folder}/dev.new: File too large. {FREE_SPACE}\n"
    assert (changed.returncode, changed.stderr) == (1, problem)
    assert not (fresh.folder / "dev.new").exists()
    assert fresh.up("us-east-1", settings=("memorySize=512",)).returncode == 0

    resource.prlimit(fresh.server(), resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    at_the_server = fresh.up("us-east-1", settings=("memorySize=1024",))
    assert at_the_server.returncode == 1
    assert "the local AWS server has ended. To start it again and go on, run the same command." in at_the_server.stderr
    assert fresh.up("us-east-1", settings=("memorySize=1024",)).returncode == 0
    (url,) = fresh.outputs()["urls"].values()
    assert mint(url)[1]["integer"] == minted + 1

    resource.prlimit(fresh.server(), resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    with pytest.raises((OSError, HTTPException)):  # an integer that a kill would forget is in no response
        mint(url)
    assert fresh.up("us-east-1", settings=("memorySize=1024",)).returncode == 0
    assert mint(url)[1]["integer"] == minted + 2


@pytest.mark.long
@pytest.mark.parametrize("command", [("outputs",), ("up", "-c", 'regions=["us-east-1"]'), ("demo",)], ids=" ".join)
def test_an_output_that_cant_be_written_is_named(small: Machine, command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full, small.start(*command, stdout=full) as process:
        _, stderr = process.communicate(timeout=HANGING)

    assert process.returncode == 1
    assert stderr == "error: the output can't be written: No space left on device; what was done stays done\n"
