"""What a user of `python -m local` sees."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from coordinate.protocol.model import Recovery
from coordinate.protocol.refusals import too_low

from local.paths import ROOT, as_here
from tests.docs.pages import code, commands, page
from tests.local.machine import HANGING, Machine, chosen, mint

DEV = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def test_the_outputs_are_the_programs(deployed: Machine) -> None:
    outputs = deployed.outputs()

    names = ("regions", "layout", "urls", "gatewayUrls", "leaving", "counters", "defaultCounter", "coordinator")
    assert tuple(outputs) == names
    assert outputs["regions"] == DEV
    assert outputs["layout"] == {region: {"offset": n, "stride": 3} for n, region in enumerate(DEV, 1)}
    assert list(outputs["urls"]) == DEV
    assert all(url.startswith(f"http://127.0.0.1:{deployed.port}/") for url in outputs["urls"].values())
    assert outputs["counters"]["integers"] == {
        "epoch": 1,
        "base": 1,
        "limit": 3_000,
        "regions": outputs["layout"],
        "pending": [],
    }


def test_up_again_changes_nothing_and_minting_goes_on(deployed: Machine) -> None:
    outputs = deployed.outputs()
    _, before = mint(outputs["urls"]["eu-west-1"])

    again = deployed.up()

    (resources,) = re.findall(r"creates (\d+) resources", (ROOT / "README.md").read_text())
    assert f"dev: {resources} unchanged\n" in again.stdout
    assert deployed.outputs() == outputs
    assert mint(outputs["urls"]["eu-west-1"])[1]["integer"] == before["integer"] + 3
    refused, problem = mint(outputs["urls"]["eu-west-1"], "invoices", "PUT")
    assert (refused, "openCounters" in problem["detail"]) == (403, True)


@pytest.mark.long
def test_changed_settings_are_applied_in_place_and_taken_back(deployed: Machine) -> None:
    outputs = deployed.outputs()
    settings = ("memorySize=512", 'counters=["integers", "orders", "tickets"]', 'alarmEmails=["operator@shop.example"]')

    output = deployed.up(settings=settings).stdout

    assert "\ndev: 47 unchanged, 6 created, 20 updated, 7 replaced\n" in output
    assert deployed.outputs()["urls"] == outputs["urls"]
    tickets = mint(outputs["urls"]["ap-southeast-2"], "tickets", method="GET")
    assert tickets == (200, {"counter": "tickets", "region": "ap-southeast-2", "integer": 3})
    output = deployed.up().stdout
    assert "\ndev: 47 unchanged, 20 updated, 7 replaced, 6 deleted\n" in output


def test_a_preview_says_in_words_what_a_risky_change_does(fresh: Machine) -> None:
    """As the page of pipelines shows it. Its own command is run, too."""
    fixed = ('counters=["integers"]', "authorization=NONE")
    assert fresh.up("us-east-1", "eu-west-1", settings=fixed).returncode == 0
    urls = fresh.outputs()["urls"]
    assert [mint(urls[region])[1]["integer"] for region in (*urls, *urls)] == [1, 2, 3, 4]

    def said(*regions: str, settings: tuple[str, ...] = ()) -> str:
        shown = fresh.run("preview", *chosen(*regions or urls, settings=(*fixed, *settings)))
        assert (shown.returncode, shown.stderr) == (0, "")
        first, *_ = (line for line in shown.stdout.splitlines() if not line.startswith("  "))
        return "" if first.startswith("at the last run, each region could mint ") else first

    (command,) = commands(page("pipeline.md"), "-m local preview")
    assert said() == ""
    assert said(settings=(command[-1],)) == "memory in MB: 256 → 512"
    assert [
        said("eu-west-1", "us-east-1"),
        said(settings=("authorization=AWS_IAM", "memorySize=512")),
        said(settings=('floors={"integers": 9000}',)),
    ] == code(page("pipeline.md"), "text").splitlines()
    assert said(settings=('floors={"integers": 4}',)).endswith("has no effect but the gap: it is at 4 already")
    counters = fresh.outputs()["counters"]
    more = ("openCounters=true", 'paused=["eu-west-1"]')
    assert said(settings=more) == (
        "openCounters: false → true: every caller will be able to create and list counters; "
        "paused, so that they mint nothing: eu-west-1"
    )
    assert fresh.up(*urls, settings=(*fixed, *more)).returncode == 0
    assert fresh.outputs()["counters"] == counters, "no epoch begins"
    assert said().endswith("won't be able to create or list counters; paused no longer: eu-west-1")


def test_the_demo_mints_everywhere_and_names_the_next_commands(deployed: Machine) -> None:
    shown = deployed.run("demo")

    assert (shown.returncode, shown.stderr) == (0, "")
    rows = [[int(word) for word in line.replace(",", "").split()[1:]] for line in shown.stdout.splitlines()[3:8:2]]
    assert [row[:2] for row in rows] == [[1, 3], [2, 3], [3, 3]]
    assert all(n % 3 == row[0] % 3 for row in rows for n in row[2:])
    assert "\n15 integers minted; the check mints others\n" in shown.stdout
    assert "12 integers minted; no problems" in shown.stdout
    end = shown.stdout.rpartition("end it:")[2].split()
    assert subprocess.run([*end, "--help"], cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("memorySize=1", "memorySize: 1 is out of range; 128 to 10240 are allowed"),
        ('regions=["eu-wset-1"]', "regions: 'eu-wset-1' is not an AWS region; did you mean 'eu-west-1'?"),
        ("leese=2", "leese: there is no such setting; did you mean 'lease'?"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_starts(tmp_path: Path, override: str, message: str) -> None:
    for command in ("up", "preview"):
        wrong = Machine(tmp_path).run(command, "-c", override)
        assert (wrong.returncode, wrong.stdout) == (1, "")
        assert wrong.stderr.startswith(f"error: the settings are wrong:\n  {message}")
    assert not (tmp_path / "server.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("up", "--stack", "nonesuch"), "there is no Pulumi.nonesuch.yaml; known stacks are dev"),
        (("up", "--port", "1"), "To move it, which changes the URLs: kill "),
        (("outputs", "--stack", "nonesuch"), "there is no Pulumi.nonesuch.yaml; known stacks are dev"),
        (("outputs", "urls.eu-wset-1"), "there is us-east-1, eu-west-1, ap-southeast-2"),
        (("outputs", "regions.0"), "outputs regions.0: there is no '0'; there is nothing below"),
        (("lose",), "lose: name a region, or --layouts, --mirror; the regions are us-east-1, eu-west-1"),
        (("lose", "eu-west-3"), "stack dev has nothing there; name one of ap-southeast-2, eu-west-1, us-east-1"),
        (("logs", "eu-west-3"), "eu-west-3: stack dev has nothing there"),
    ],
)
def test_wrong_arguments_are_reported(deployed: Machine, arguments: tuple[str, ...], message: str) -> None:
    wrong = deployed.run(*arguments)

    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert message in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((("up", "--port", port), f"{port} is not a number from 0 to 65535") for port in ("65536", "-1", "http", "")),
        (("logs", "-n", "0"), "0 is not a number from 1 to 999999"),
        (("up", "--suppress"), "unrecognized arguments: --suppress"),
    ],
)
def test_an_option_that_is_none_is_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    wrong = Machine(tmp_path).run(*arguments)
    assert (wrong.returncode, message in wrong.stderr) == (2, True)


@pytest.mark.parametrize("event", ["[]", "{"])
def test_an_event_that_is_no_object_is_refused(tmp_path: Path, event: str) -> None:
    wrong = Machine(tmp_path).run("send", event)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == f"""error: send: {event} is not a JSON object, like '{{"schedule": true}}'\n"""


def test_messages_name_the_commands_of_this_machine() -> None:
    assert as_here("run `pulumi up --refresh`, or `pulumi preview`; `pulumi cancel`").count("-m local ") == 2
    assert "`pulumi cancel`" in as_here("`pulumi cancel`")
    assert as_here("`pulumi up --refresh -c aws:region=eu-west-1`").endswith("-m local up -c aws:region=eu-west-1`")
    shown = as_here(str(too_low(Recovery("loss-8f14e45fceea167a-7", 5), 99)))
    assert """Set `-c 'recovery={"loss": "loss-8f14e45fceea167a-7", "above": 99}'`, or a larger""" in shown


@pytest.mark.long
def test_two_ups_at_once_do_one_after_the_other(fresh: Machine) -> None:
    assert fresh.up("us-east-1").returncode == 0
    with (
        fresh.start(*fresh.command("us-east-1", "eu-west-1")) as one,
        fresh.start(*fresh.command("us-east-1", "eu-west-1")) as two,
    ):
        ended = [process.communicate(timeout=HANGING) for process in (one, two)]

    assert [one.returncode, two.returncode] == [0, 0], ended
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 2
    assert ["waiting for another" in error for _, error in ended].count(True) == 1


def test_one_output_is_printed_for_scripts(deployed: Machine) -> None:
    outputs = deployed.outputs()

    assert deployed.run("outputs", "urls.eu-west-1").stdout == outputs["urls"]["eu-west-1"] + "\n"
    assert json.loads(deployed.run("outputs", "regions").stdout) == outputs["regions"]
    assert json.loads(deployed.run("outputs", "layout", "--json").stdout) == outputs["layout"]


def test_a_reader_that_stops_early_is_no_traceback(deployed: Machine) -> None:
    command = f"{sys.executable} -m local outputs | true"
    result = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=deployed.environment, capture_output=True, text=True, timeout=HANGING
    )

    assert result.stderr == ""
