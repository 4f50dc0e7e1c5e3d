"""`global-integers` as a user types it, the package as it is installed, and the blocks of the pages."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import global_integers
import pytest
from global_integers import command_line
from global_integers.minting import api
from global_integers.minting.api import ApiResponse
from global_integers.testing import Stack

from components.function import archived, version
from local.paths import ROOT
from proof.faulty_server import Request, Response, Server
from tests.client.commands import Command, Done
from tests.client.region_proxies import HANG, RegionProxy

Urls = dict[str, str]
CLIENT = ROOT / "client"
SOURCES = str(CLIENT / "src")
PAGES = (ROOT / "docs" / "client.md", CLIENT / "README.md", ROOT / "README.md")
BLOCKS = [
    pytest.param(language, block, id=f"{page.name} {number}")
    for page in PAGES
    for number, (language, block) in enumerate(re.findall(r"```(python|sh)\n(.*?)```", page.read_text(), re.DOTALL))
    if "pip install" not in block and (page.parent != ROOT or language == "python")
    # the tests below install; tests/docs and tests/local have the other commands of the README
]


def test_the_version_is_the_packages(command: Command) -> None:
    assert command("--version") == (0, f"global-integers {global_integers.__version__}\n", "")


@pytest.mark.server
def test_mint_prints_integers(command: Command, direct: Urls, tmp_path: Path) -> None:
    minted = [int(line) for line in command("mint", "orders", "-n", "4", urls=direct).stdout.splitlines()]

    assert minted == list(range(minted[0], minted[0] + 12, 3))
    assert json.loads(command("mint", "--json", urls=direct).stdout)[0] >= 1
    formatted = command("mint", "-n", "2", "--format", "INV-{:06d}", urls=direct).stdout.splitlines()
    assert [len(line) for line in formatted] == [10, 10]
    key = f"key-{os.getpid()}"
    assert command("mint", "--key", key, urls=direct) == command("mint", "--key", key, urls=direct)
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps({"urls": direct}))
    assert command("mint", urls=str(file)).status == 0
    unknown = command("mint", "none", urls=direct)
    assert unknown.status == 1
    assert unknown.stderr.startswith("global-integers: no region knows counter 'none'. A counter is created by")


@pytest.mark.server
def test_urls_of_an_earlier_deployment_are_called_so(command: Command, direct: Urls) -> None:
    earlier = {region: url.rstrip("/")[:-4] + "none/" for region, url in direct.items()}

    for call in (("mint", "orders"), ("owner", "1", "orders"), ("create", "tickets")):
        done = command(*call, urls=earlier)
        assert (done.status, "no region knows" in done.stderr) == (1, False)
        assert "refuses the request: 403: Forbidden\nThe request wasn't signed" in done.stderr
        assert "Or the URL leads nowhere, which AWS answers likewise. The URLs may be from an earlier" in done.stderr
        assert done.stderr.endswith("or on one machine `.venv/bin/python -m local outputs --json`\n")
    assert "us-east-1: 403: Forbidden" in command("status", urls=earlier).stdout
    assert "wrong: us-east-1: the default counter: 403: Forbidden" in command("check", urls=earlier).stdout


@pytest.mark.server
def test_a_domain_is_enough(command: Command, direct: Urls) -> None:
    url = direct["eu-west-1"]

    assert int(command("--urls", url, "mint", "orders").stdout) % 3 == 2
    assert json.loads(command("status", "--json", urls=url).stdout)[0]["ok"]
    done = command("check", urls=url)
    assert (done.status, "has no names for its regions" in done.stderr) == (2, True)


def test_a_domain_on_one_machine_has_not_left(command: Command) -> None:
    async def respond(_: Request) -> Response:
        state = {"region": "us-east-1", "regions": ["us-east-1"], "counter": "integers", "ok": True, "position": 7}
        return Response(200, json.dumps(state).encode(), {"Content-Type": "application/json"})

    with Server(respond) as server:
        done = command("--urls", f"{server.url}/", "--no-sign", "status")
    assert (done.status, done.stdout.splitlines()[-1].split()[1]) == (0, "healthy")


def test_a_domain_is_asked_for_the_counter_in_use(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting `callers`, the stack's first counter may be refused."""

    async def refuse(_: Request) -> Response:
        return Response(403)

    with Server(refuse) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        done = command("--urls", "http://integers.example.com", "--no-sign", "mint", "orders")

    assert [request.path for request in proxy.requests] == ["http://integers.example.com/-/status?counter=orders"]
    assert (done.status, done.stdout) == (1, "")


@pytest.mark.server
def test_owner_create_and_status(command: Command, direct: Urls) -> None:
    first = command("mint", "orders", urls=direct).stdout.strip()

    assert f"{first} of orders: " in command("owner", first, "orders", urls=direct).stdout
    assert json.loads(command("owner", first, "orders", "--json", urls=direct).stdout)["minted"] is True
    assert command("create", "tickets", urls=direct).stdout == "tickets: created\n"
    assert command("create", "tickets", urls=direct).stdout == "tickets: exists\n"
    assert json.loads(command("mint", "--urls", json.dumps(direct), "--prefer", "us-east-1", "--json").stdout)
    status = command("status", urls=direct)
    assert status.status == 0
    assert [line.split()[:2] for line in status.stdout.splitlines()[2:]] == [[region, "healthy"] for region in direct]
    assert {line.split()[-1] for line in status.stdout.splitlines()[2:]} == {version(archived("mint", "aws_client"))}
    assert "\x1b" not in status.stdout
    rows = json.loads(command("status", "orders", "--json", urls=direct).stdout)
    assert {row["counter"] for row in rows} == {"orders"}
    assert all(row["epoch"] == 1 and row["latency_ms"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("answered", "ask", "why"),
    [
        (
            "eu-west-1",
            None,
            "the counters table of eu-west-1 was lost, restored or deleted since, so no region knows; treat it",
        ),
        ("us-east-1", None, "eu-west-1 has left the layout, so no region knows; treat it as minted, and look for it"),
        ("integers.example.com", None, "eu-west-1 has left the layout, or the counters table of eu-west-1 was lost"),
        ("us-east-1", "eu-west-1", "only eu-west-1 knows, and it has not answered; ask again later"),
    ],
)
def test_an_owner_that_knows_nothing_is_explained(answered: str, ask: str | None, why: str) -> None:
    document: dict[str, Any] = {"integer": 17, "region": "eu-west-1", "offset": 2, "stride": 3, "epoch": 1}
    document |= {"minted": None} | ({"ask": ask} if ask else {})
    found, _ = api.owner("orders", 17).read(ApiResponse(answered, 200, {}, b"", ""), document)
    assert found.minted is None
    assert found.reason.startswith(why)


def test_an_owner_that_has_left_is_explained(command: Command, in_memory: Callable[..., Stack]) -> None:
    stack = in_memory()
    assert stack.integers(prefer="eu-west-1").next() == 2
    stack.regions[1].fail("left")

    lines = command("owner", "2", urls=URLS).stdout.splitlines()
    assert lines[0] == "2 of integers: eu-west-1, offset 2 of 3, not known whether minted"
    assert lines[1].startswith("why: eu-west-1 has left the layout")


URLS = {"eu-west-1": "https://eu-west-1.test/"}
"""Of a stack in memory: they aren't used."""


def table_of(done: Done) -> list[list[str]]:
    """Return the cells of a table, without its first two lines."""
    return [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()[2:]]


@pytest.mark.slow
def test_the_list_goes_on_for_pages(command: Command, in_memory: Callable[..., Stack]) -> None:
    names = [f"c{n:03}" for n in range(300)]
    stack = in_memory(counters=names, max_counters=1000)
    stack.integers()["c299"].take(5)

    done = command("counters", urls=URLS)
    assert (done.status, done.stderr) == (0, "")
    assert [row[0] for row in table_of(done)] == names
    assert table_of(done)[0] == ["c000", "1", "none yet", "-"]
    assert table_of(done)[-1] == ["c299", "1", "13", "-"]


def test_a_rate_counts_all_regions_between_two_looks(
    command: Command, in_memory: Callable[..., Stack], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = in_memory(counters=["integers", "orders"], max_counters=9)
    callers = [stack.integers(prefer=region.name) for region in stack.regions]
    waited: list[float] = []

    def wait(seconds: float) -> None:
        stack.tick(seconds)
        if seconds == 10:
            waited.append(seconds)
            for number, caller in enumerate(callers, 1):
                caller["orders"].take(100 * number)

    monkeypatch.setattr(command_line, "sleep", wait)
    done = command("counters", "--rate", "10", urls=URLS)
    assert waited == [10]
    assert table_of(done)[0] == ["integers", "1", "none yet", "0.0"]
    counter, _, position, rate = table_of(done)[1]
    assert (counter, position) == ("orders", "900")
    assert 55 < float(rate) <= 60, "600 integers in ten seconds and what the requests took"


def test_a_rate_across_epochs_is_unknown(
    command: Command, in_memory: Callable[..., Stack], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = in_memory(max_counters=9)

    def wait(_: float) -> None:
        stack.jump()

    monkeypatch.setattr(command_line, "sleep", wait)

    rows = json.loads(command("counters", "--rate", "10", "--json", urls=URLS).stdout)
    assert {row["counter"]: (row["epoch"], row["rate"]) for row in rows} == {"integers": (2, None), "orders": (2, None)}


def test_what_has_minted_nothing_has_no_position(command: Command, in_memory: Callable[..., Stack]) -> None:
    stack = in_memory(counters=["integers"])
    none, one = {region.name: None for region in stack.regions}, stack.integers(prefer="eu-west-1").next()
    [row] = json.loads(command("counters", "integers", "--json", urls=URLS).stdout)
    assert (row["position"], row["regions"]) == (one, {**none, "eu-west-1": one})
    stack.jump()
    [row] = json.loads(command("counters", "integers", "--json", urls=URLS).stdout)
    assert (row["base"], row["position"], row["regions"]) == (3000001, None, none)


def test_a_new_epoch_shows_where_it_begins(command: Command, in_memory: Callable[..., Stack]) -> None:
    stack = in_memory(counters=["integers", "orders"], max_counters=9)
    stack.integers().next()
    stack.jump()
    base = stack.integers()["orders"].next()

    assert table_of(command("counters", urls=URLS)) == [
        ["integers", "2", f"begins at {base}", "-"],
        ["orders", "2", str(base), "-"],
    ]
    assert [row[3] for row in table_of(command("status", urls=URLS))] == [f"begins at {base}"] * 3


def test_counters_that_are_named_need_no_list(command: Command, in_memory: Callable[..., Stack]) -> None:
    in_memory().regions[0].fail("refused")

    closed = command("counters", urls=URLS)
    assert (closed.status, closed.stdout) == (1, "")
    assert "refuses the request: 403: counters can't be created or listed here" in closed.stderr
    assert closed.stderr.endswith("Or name those to show: global-integers counters <counter> …\n")
    named = command("counters", "orders", "nothing", urls=URLS)
    orders, nothing, *reasons = table_of(named)
    assert (named.status, orders, nothing) == (1, ["orders", "1", "none yet", "-"], ["nothing", "-", "-", "-"])
    assert len(reasons) == 2
    assert reasons[0][0].startswith("us-east-1: connection refused")
    assert reasons[1][0] == "eu-west-1, ap-southeast-2: there is no counter 'nothing' in this region"


def test_a_regions_state_is_said_in_words(command: Command, in_memory: Callable[..., Stack]) -> None:
    stack = in_memory()
    stack.integers(prefer="eu-west-1").take(4)
    stack.regions[1].fail("left")
    stack.regions[2].fail("refused")

    assert table_of(command("status", urls=URLS)) == [
        ["us-east-1", "healthy", "10 ms", "none yet", "1000000", "1", "integers", "-"],
        ["eu-west-1", "left", "20 ms", "11", "0", "1", "integers", "-"],
        ["ap-southeast-2", "no response", "-", "-", "-", "-", "-", "-"],
        ["eu-west-1: this region has left, and no longer mints 'integers'; use one of the other regions"],
        ["ap-southeast-2: connection refused (ap-southeast-2.integers.test)"],
    ]


def test_a_region_without_a_url_is_named(command: Command) -> None:
    """The outputs are older than the region. It mints, too, so keys and owners would be wrong."""
    both = ["us-east-1", "eu-west-1"]

    async def respond(request: Request) -> Response:
        document: dict[str, Any] = {"region": both[0], "counter": "integers", "status": "ok", "ok": True}
        document |= {"regions": both, "stride": 2, "offset": 1, "epoch": 1, "integer": 1, "minted": True}
        count = 3 if "count=3" in request.path else 1
        document |= {"count": count, "first": 1, "last": 2 * count - 1} if request.method == "POST" else {}
        return Response(200, json.dumps(document).encode(), {"Content-Type": "application/json"})

    with Server(respond) as server:
        urls = {both[0]: f"{server.url}/"}
        status, rows, check = (command(*call, urls=urls) for call in (["status"], ["status", "--json"], ["check"]))
        left = command("status", urls={"eu-west-2": f"{server.url}/"})

    assert (status.status, rows.status, check.status) == (1, 1, 1)
    assert table_of(status)[1] == ["eu-west-1", "no URL", *"------"]
    missing = "eu-west-1: it is in the layout, and isn't among the URLs\n"
    assert f"{missing}The URLs may be from an earlier deployment. Take them from the stack's" in status.stdout
    assert f"wrong: {missing}" in check.stdout
    assert [row["reachable"] for row in json.loads(rows.stdout)] == [True, None]
    assert missing not in left.stdout, "what it knows may be of the past"


@pytest.mark.server
def test_check_finds_what_is_wrong(
    command: Command, proxies: dict[str, RegionProxy], urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = urls.items()

    def of_two_regions(body: bytes) -> bytes:
        answer: dict[str, Any] = json.loads(body)
        if "stride" in answer:
            answer["stride"] = 2
        if "last" in answer:
            answer["last"] = answer["first"] + 2 * (answer["count"] - 1)
        return json.dumps(answer).encode()

    assert command("check", urls=urls).status == 0
    swapped = command("check", urls={first[0]: second[1], second[0]: first[1]})
    assert swapped.status == 1
    assert f"wrong: {first[0]}: the default counter: the response is of the region {second[0]!r}" in swapped.stdout
    proxies["eu-west-1"].edit(of_two_regions)
    mixed = command("check", urls=urls)
    assert mixed.status == 1
    assert "epoch 1 has strides [2, 3]: the URLs are of different stacks" in mixed.stdout
    monkeypatch.setattr(command_line, "SLOW", 0.0)
    assert "wrong: us-east-1: a health check takes" in command("check", urls=urls).stdout


@pytest.mark.server
def test_a_region_that_is_unreachable_fails_the_check(
    command: Command, proxies: dict[str, RegionProxy], urls: Urls
) -> None:
    proxies["us-east-1"].fail("cut")

    status = command("status", urls=urls)
    assert status.status == 1
    assert "us-east-1       no response" in status.stdout
    check = command("check", urls=urls)
    assert check.status == 1
    assert "wrong: us-east-1: " in check.stdout
    assert json.loads(command("check", "--json", urls=urls).stdout)["ok"] is False
    assert command("mint", urls=urls).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False])
def test_who_waits_at_a_terminal_is_told_for_what(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    assert command_line.main(["--urls", '{"eu-west-1": "http://127.0.0.1:1/"}', "--timeout", "1", "mint"]) == 1
    waiting, *error = capsys.readouterr().err.splitlines()
    refused = "eu-west-1: connection refused (127.0.0.1:1)"
    said = "no answer yet, trying again" if terminal else "the default counter: no region succeeded within 1 s"
    assert waiting == f"global-integers: {said}: {refused}"
    assert len(error) == 1 + terminal


def test_wrong_calls_say_what_is_right(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {
        ("mint", "-n", "0"): "not an integer from 1 to",
        ("mint", "Orders"): "not a counter's name",
        ("mint", ""): "not a counter's name",
        ("mint", "--format", "{:d"): "it should look like 'INV-{:06d}'",
        ("mint", "--format", "{0[0]}"): "{0[0]} is not possible; it should look like",
        ("mint", "--format", "{0.__class__}"): "{0.__class__} is not possible",
        ("mint", "--format", "{:1000000000d}"): "{:1000000000d} is not possible",
        ("mint", "--format", "{:{}}"): "{:{}} is not possible",
        ("mint", "--format", "{:.3g}"): "{:.3g} is not possible",
        ("mint", "--format", "{:c}"): "{:c} is not possible",
        ("mint", "--format", "{}{}{a}"): "{a} is not possible",
        ("mint", "--format", "{}{}"): "it should look like",
        ("mint", "--format", "INV"): "it doesn't show the integer",
        ("mint", "--timeout", "-1"): "timeout -1.0 is not above 0",
        ("--timeout", "-1", "mint"): "timeout -1.0 is not above 0",
        ("mint", "--lease", "5"): "unrecognized arguments",
        ("mint", "--time", "5"): "unrecognized arguments",
        ("mint", "--key", "a b"): "visible ASCII",
        ("owner", "0"): "not an integer from 1 to",
        ("counters", "Orders"): "not a counter's name",
        ("counters", "--rate", "0"): "not a number of seconds from 1 to 3,600",
        ("--prefer", "nowhere", "mint"): "none of the regions",
        ("status", "--prefer", "nowhere"): "none of the regions",
        ("--urls", "/no/such/file", "mint"): "no file with this path can be read",
        (): "the following arguments are required",
    }
    for arguments, message in calls.items():
        done = command(*arguments, urls={"eu-west-1": "http://127.0.0.1:1/"})
        assert (done.status, message in done.stderr) == (2, True), done
    assert command("mint").status == 2, "no URLs"
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    done = command("mint", urls={"eu-west-1": "http://127.0.0.1:1/"})
    assert (done.status, "SSL_CERT_FILE" in done.stderr, "lost" in done.stderr) == (2, True, False)


@pytest.mark.parametrize("text", ["{}", "{:>9,}", "{:#x}", "{0:_}", "{!r}", "a{0:06d}b{0}", "{:é^9}", "2026-10000-{}"])
def test_every_format_that_shows_the_integer_is_possible(
    command: Command, in_memory: Callable[..., Stack], text: str
) -> None:
    in_memory()
    assert command("mint", "--format", text, urls=URLS) == (0, f"{text.format(1)}\n", "")


@pytest.mark.server
def test_what_can_not_be_encoded_is_shown_all_the_same(direct: Urls) -> None:
    command = [sys.executable, "-m", "global_integers", "--timeout", "60", "mint", "--format", "№{}"]
    done = in_a_process(command, direct, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\\u2116\d+\n", done.stdout)


def in_a_process(command: str | list[str], urls: Urls, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a command, with a shell if it is one text."""
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        env=environment_of(urls, **more),
        capture_output=True,
        text=True,
        timeout=HANG,
    )


def environment_of(urls: Urls, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCES, "GLOBAL_INTEGERS_URLS": json.dumps(urls), **more}


SHELL = {
    ">&-": (2, "the standard output is closed, so nothing could be shown"),
    ">/dev/full": (1, "the output could not be written, and integers in it are lost"),
}


@pytest.mark.server
@pytest.mark.parametrize(("redirected", "status", "message"), [(shell, *expected) for shell, expected in SHELL.items()])
def test_output_that_nobody_gets_is_said(
    proxies: dict[str, RegionProxy], urls: Urls, redirected: str, status: int, message: str
) -> None:
    done = in_a_process(f"exec {sys.executable} -m global_integers --timeout 60 mint {redirected}", urls)

    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (status, True, 1), done.stderr
    assert sum(proxy.mints for proxy in proxies.values()) == status % 2


INTERRUPTED = """
import _thread, runpy, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == chosen:
            _thread.interrupt_main()

sys.meta_path.insert(0, Interrupt())
chosen = sys.argv.pop(1)
runpy.run_module("global_integers", run_name="__main__", alter_sys=True)
"""


@pytest.mark.server
@pytest.mark.parametrize(
    "module", ["argparse", "global_integers.integers", "httpx", "global_integers.minting.transport"]
)
def test_ctrl_c_while_it_starts_is_no_traceback(urls: Urls, module: str) -> None:
    done = in_a_process([sys.executable, "-c", INTERRUPTED, module, "--timeout", "60", "mint"], urls)

    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.mark.server
def test_ctrl_c_while_an_integer_is_minted_says_what_is_lost(proxies: dict[str, RegionProxy], urls: Urls) -> None:
    for proxy in proxies.values():
        proxy.fail("hang")
    command = [sys.executable, "-m", "global_integers", "--prefer", "us-east-1", "--timeout", "60", "mint"]
    with subprocess.Popen(command, env=environment_of(urls), stderr=subprocess.PIPE, text=True) as process:
        proxies["us-east-1"].until(lambda: proxies["us-east-1"].mints > 0)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=HANG)

    assert process.returncode == 130
    assert printed == "global-integers: interrupted; integers may have been minted that were not shown: they are lost\n"


@pytest.mark.server
def test_a_reader_that_stops_is_no_error(direct: Urls) -> None:
    done = in_a_process(f"{sys.executable} -m global_integers --timeout 60 mint -n 100000 | head -1", direct)

    assert done.stdout.strip().isdigit()
    assert done.stderr == ""


@pytest.fixture(scope="module")
def environment(outputs: dict[str, Any], direct: Urls, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's environment, with the command; its check accepts the latency of a busy machine."""
    folder = tmp_path_factory.mktemp("caller")
    (folder / "outputs.json").write_text(json.dumps(outputs))
    program = folder / "global-integers"
    program.write_text(
        f"#!{sys.executable}\nfrom global_integers import command_line\n\n"
        f"command_line.SLOW = {HANG}\nraise SystemExit(command_line.main())\n"
    )
    program.chmod(0o755)
    return {
        **os.environ,
        "GLOBAL_INTEGERS_URLS": str(folder / "outputs.json"),
        "PYTHONPATH": SOURCES,
        "PATH": f"{folder}:{os.environ['PATH']}",
    }


@pytest.mark.long
@pytest.mark.server
@pytest.mark.parametrize(("language", "block"), BLOCKS)
def test_the_block_runs(language: str, block: str, environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", block] if language == "python" else ["sh", "-euc", block]

    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=HANG)

    assert done.returncode == 0, done.stderr
    if "print" in block or language == "sh":
        assert re.search(r"[1-9]", done.stdout), done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
    subprocess.run([sys.executable, "-m", "pip", *build, "--wheel-dir", folder, CLIENT], check=True)
    (built,) = folder.iterdir()
    return built


@pytest.mark.long
@pytest.mark.parametrize("conftest", ["", 'pytest_plugins = ["global_integers.pytest_plugin"]'], ids=["", "named too"])
def test_pytest_finds_the_fixture_of_the_wheel(wheel: Path, tmp_path: Path, conftest: str) -> None:
    (tmp_path / "conftest.py").write_text(conftest)
    page = PAGES[0].read_text()
    (program,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "integers_stack" in block)
    (tmp_path / "test_page.py").write_text(program)
    ZipFile(wheel).extractall(tmp_path / "installed")
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "test_page.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_it_mints_from_a_fresh_environment(wheel: Path, outputs: dict[str, Any], tmp_path: Path) -> None:
    """With the package and its requirements, in the versions that the other tests use."""
    (tmp_path / "outputs.json").write_text(json.dumps(outputs))
    (tmp_path / "pins").write_text("".join(f"{found.name}=={found.version}\n" for found in distributions()))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    install = ["install", "--quiet", "--disable-pip-version-check", "--constraint", tmp_path / "pins", wheel]
    subprocess.run([programs / "python", "-m", "pip", *install], check=True)

    def command(*arguments: str) -> str:
        environment = {"GLOBAL_INTEGERS_URLS": str(tmp_path / "outputs.json")}
        run = [programs / "global-integers", *arguments]
        return subprocess.run(run, env=environment, capture_output=True, text=True).stdout

    assert command("--version") == f"global-integers {wheel.name.split('-')[1]}\n"
    minted = json.loads(command("mint", "orders", "-n", "5", "--json"))
    assert minted == list(range(minted[0], minted[0] + 15, 3))
    report = json.loads(command("check", "--json"))
    assert report["minted"] == 12
    assert [wrong for wrong in report["wrong"] if "a health check takes" not in wrong] == []
    signing = "from global_integers import Integers; Integers({'eu-west-1': 'http://127.0.0.1/'}, sign=True)"
    refused = subprocess.run([programs / "python", "-c", signing], capture_output=True, text=True)
    assert "pip install botocore" in refused.stderr
