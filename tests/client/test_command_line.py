"""`global-integers` as a user types it."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from components.archive import archived, version
from local.paths import ROOT
from tests.client.ways import Way
from tests.local.machine import Machine

Done = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.server


def command(*arguments: str, urls: object = None) -> Done:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client" / "src")}
    environment.pop("GLOBAL_INTEGERS_URLS", None)
    if urls is not None:
        environment["GLOBAL_INTEGERS_URLS"] = urls if isinstance(urls, str) else json.dumps(urls)
    return subprocess.run(
        [sys.executable, "-m", "global_integers", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_mint_prints_integers(direct: dict[str, str]) -> None:
    done = command("mint", "orders", "-n", "4", urls=direct)
    minted = [int(line) for line in done.stdout.splitlines()]

    assert minted == list(range(minted[0], minted[0] + 12, 3))
    assert json.loads(command("mint", "--json", urls=direct).stdout)[0] >= 1
    formatted = command("mint", "-n", "2", "--format", "INV-{:06d}", urls=direct).stdout.splitlines()
    assert [len(line) for line in formatted] == [10, 10]
    key = f"key-{os.getpid()}"
    assert command("mint", "--key", key, urls=direct).stdout == command("mint", "--key", key, urls=direct).stdout


def test_an_address_is_enough(direct: dict[str, str]) -> None:
    address = direct["eu-west-1"]

    assert int(command("--urls", address, "mint", "orders").stdout) % 3 == 2
    assert json.loads(command("status", "--json", urls=address).stdout)[0]["ok"]
    done = command("check", urls=address)
    assert (done.returncode, "has no names for its regions" in done.stderr) == (2, True)


def test_an_address_is_asked_for_the_counter_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting `callers`, the stack's first counter may be refused."""
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response_only(403)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_port}")
        done = command("--urls", "http://integers.example.com", "--no-sign", "mint", "orders")
        server.shutdown()

    assert asked == ["http://integers.example.com/-/status?counter=orders"]
    assert (done.returncode, done.stdout) == (1, "")


def test_owner_create_and_status(direct: dict[str, str]) -> None:
    first = command("mint", "orders", urls=direct).stdout.strip()

    assert f"{first} of orders: " in command("owner", first, "orders", urls=direct).stdout
    assert json.loads(command("owner", first, "orders", "--json", urls=direct).stdout)["minted"] is True
    assert command("create", "tickets", urls=direct).stdout == "tickets: created\n"
    assert command("create", "tickets", urls=direct).stdout == "tickets: exists\n"
    status = command("status", urls=direct)
    assert status.returncode == 0
    assert [line.split()[:2] for line in status.stdout.splitlines()[2:]] == [[region, "well"] for region in direct]
    assert {line.split()[-1] for line in status.stdout.splitlines()[2:]} == {version(archived("mint", "aws"))}
    assert "\x1b" not in status.stdout
    rows = json.loads(command("status", "orders", "--json", urls=direct).stdout)
    assert {row["counter"] for row in rows} == {"orders"}
    assert all(row["epoch"] == 1 and row["latency_ms"] > 0 for row in rows)


def test_a_region_that_is_away_is_shown_and_fails_the_check(ways: dict[str, Way], urls: dict[str, str]) -> None:
    assert command("check", urls=urls).returncode == 0
    next(iter(ways.values())).fault = "cut"

    status = command("status", urls=urls)
    assert status.returncode == 1
    assert "us-east-1       no response" in status.stdout
    check = command("check", urls=urls)
    assert check.returncode == 1
    assert "wrong: us-east-1: " in check.stdout
    assert json.loads(command("check", "--json", urls=urls).stdout)["ok"] is False
    assert command("mint", urls=urls).returncode == 0


def test_check_finds_urls_that_were_mixed_up(direct: dict[str, str]) -> None:
    first, second, *_ = direct.items()

    swapped = command("check", urls={first[0]: second[1], second[0]: first[1]})
    assert swapped.returncode == 1
    assert f"wrong: {first[0]}: its URL is that of {second[0]}" in swapped.stdout
    assert "which belongs to" in swapped.stdout


def test_check_finds_a_second_stack_behind_one_of_the_urls(direct: dict[str, str], fresh: Machine) -> None:
    assert fresh.up("us-east-1", "eu-west-1").returncode == 0
    other = fresh.outputs()["urls"]

    mixed = command("check", urls={**direct, "eu-west-1": other["eu-west-1"]})
    assert mixed.returncode == 1
    assert "the URLs are of different stacks" in mixed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mint", "-n", "0"), "not an integer from 1 to"),
        (("mint", "Orders"), "not a counter's name"),
        (("mint", "--format", "{:d"), "it should look like 'INV-{:06d}'"),
        (("mint", "--key", "a b"), "visible ASCII"),
        (("owner", "0"), "not an integer from 1 to"),
        (("--prefer", "nowhere", "mint"), "none of the regions"),
        (("--urls", "/no/such/file", "mint"), "no file with this path can be read"),
        ((), "the following arguments are required"),
    ],
)
def test_wrong_calls_say_what_is_right(direct: dict[str, str], arguments: tuple[str, ...], message: str) -> None:
    done = command(*arguments, urls=direct)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_are_short_and_exit_with_one(direct: dict[str, str], tmp_path: Path) -> None:
    unknown = command("mint", "none", urls=direct)

    assert unknown.returncode == 1
    assert unknown.stderr.startswith("global-integers: no region knows counter 'none'. A counter is created by")
    assert command("mint").returncode == 2, "no URLs"
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps({"urls": direct}))
    assert command("mint", urls=str(file)).returncode == 0


def test_a_reader_that_stops_is_no_error(direct: dict[str, str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client" / "src"), "GLOBAL_INTEGERS_URLS": json.dumps(direct)}
    done = subprocess.run(  # noqa: S602 (a pipe, as a user types it)
        f"{sys.executable} -m global_integers mint -n 100000 | head -1",
        shell=True,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip().isdigit()
    assert done.stderr == ""
