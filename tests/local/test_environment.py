"""The user's environment: what is for other machines has no effect here, and a folder that can't be used is named."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.environment import isolate
from local.paths import ROOT
from tests.local.machine import HANGING, Machine, mint, processes_of

NOWHERE = "/dev/null/nowhere"

WRONG = {
    **dict.fromkeys(("AWS_PROFILE", "AWS_DEFAULTS_MODE", "AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS"), "nonesuch"),
    **dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_DATA_PATH"), NOWHERE),
    **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), "wrong"),
    **dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "nowhere-1"),
    **dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_LAMBDA"), "http://127.0.0.1:9"),
    **dict.fromkeys(("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_CSM_ENABLED"), "true"),
    "BOTOCORE_TCP_KEEPALIVE": "perhaps",
    **dict.fromkeys(
        ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), NOWHERE
    ),
    **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9"),
    "all_proxy": "http://[::1",
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "[::1"),
    **dict.fromkeys(("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS"), "{"),
}
"""Variable → a value that is wrong here."""

OF_SDK = [name for name in WRONG if name.startswith(("AWS", "BOTO"))]


@pytest.mark.slow
def test_the_servers_clients_ignore_settings_of_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OF_SDK:
        monkeypatch.setenv(name, WRONG[name])

    client = Aws("http://127.0.0.1:9").client("sts", "eu-west-1")

    assert (client.meta.endpoint_url, client.meta.region_name) == ("http://127.0.0.1:9", "eu-west-1")


def test_what_is_for_other_machines_is_removed_and_all_else_stays() -> None:
    needed = {"PATH": "/bin", "HOME": "/home/user", "GLOBAL_INTEGERS_LOCAL": "/state", "LANG": "C"}
    environment = needed | WRONG

    isolate(environment)

    assert environment == needed | {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def run(machine: Machine, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own, with these variables."""
    return started(["-m", "local", *arguments], {**machine.environment, **variables})


def started(arguments: list[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANGING)


@pytest.mark.long
def test_the_demo_works_whatever_the_environment_says(small: Machine) -> None:
    shown = run(small, "demo", PYTHONIOENCODING="ascii", **WRONG)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "integers minted; no problems" in shown.stdout


def test_a_machine_is_started_and_ended_in_any_environment(fresh: Machine) -> None:
    assert run(fresh, *fresh.command("us-east-1"), **WRONG).stderr == ""
    assert mint(fresh.outputs()["urls"]["us-east-1"])[0] == 200
    assert run(fresh, "lose", "us-east-1", **WRONG).stderr == ""
    assert run(fresh, "down", **WRONG).stdout == "ended; everything minted here is forgotten\n"
    assert processes_of(fresh.folder) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "named", "why"),
    [("file", "file", "File exists"), ("file/below", "file/below", "Not a directory"), ("", "dev.json", "Is a direct")],
)
def test_a_state_folder_that_cant_be_used_is_named(tmp_path: Path, folder: str, named: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dev.json").mkdir()

    result = Machine(tmp_path / folder).run("up", "--port", "0")

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {tmp_path / named}: {why}")
    assert f"is recorded in {tmp_path / folder}. Let this user write files there, or" in result.stderr
    assert processes_of(tmp_path) == []


@pytest.mark.server
def test_a_full_disk_is_named_and_nothing_is_lost(fresh: Machine) -> None:
    def limited(size: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command whose files have at most so many bytes."""
        code = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        code += "os.execv(sys.executable, [sys.executable, '-m', 'local', *sys.argv[1:]])"
        return started(["-c", code, *arguments], fresh.environment)

    first = limited(10, *fresh.command("us-east-1"))
    assert (first.returncode, first.stdout) == (1, "")
    assert first.stderr.startswith(f"error: {fresh.folder}/server.new: File too large. ")
    assert "Free space there, or set" in first.stderr
    assert processes_of(fresh.folder) == [], "a server without a record would never be ended"

    assert fresh.up("us-east-1").returncode == 0
    minted = mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"]
    changed = limited(1000, *fresh.command("us-east-1", settings=("memorySize=512",)))
    assert changed.returncode == 1
    assert changed.stderr.startswith(f"error: {fresh.folder}/dev.new: File too large. ")
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
def test_an_output_that_cant_be_written_is_named(small: Machine) -> None:
    with Path("/dev/full").open("w") as full, small.start("outputs", stdout=full) as process:
        _, stderr = process.communicate(timeout=HANGING)

    assert process.returncode == 1
    assert stderr == "error: the output can't be written: No space left on device; what was done stays done\n"
