"""What `logs` and `lose` show and do."""

import json

import pytest

from tests.local.machine import Machine, mint


def test_the_logs_have_the_layouts_begin_and_no_noise(deployed: Machine) -> None:
    lines = deployed.run("logs", "-n", "1000").stdout.splitlines()

    created = [json.loads(line.partition(": ")[2]) for line in lines if '"created"' in line]
    assert {line["counter"] for line in created} >= {"-check", "integers", "orders"}
    assert not [line for line in lines if "START" in line or "_aws" in line]
    assert [line for line in lines if " us-east-1 global-integers-dev-coordinate: " in line]
    assert deployed.run("logs", "eu-west-1", "-n", "3").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lose",), "lose: name a region, or --layouts, --mirror, --archive; the regions are us-east-1, eu-west-1"),
        (
            ("lose", "eu-west-3"),
            "eu-west-3: stack dev has no tables there; name one of ap-southeast-2, eu-west-1, us-east-1",
        ),
        (("logs", "eu-west-3"), "eu-west-3: stack dev has no tables there"),
        (("status", "--stack", "local"), "stack local is not deployed here"),
    ],
)
def test_what_is_not_there_is_named(deployed: Machine, arguments: tuple[str, ...], message: str) -> None:
    wrong = deployed.run(*arguments)

    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert message in wrong.stderr


@pytest.mark.parametrize("count", ["0", "-1", "x", ""])
def test_a_wrong_number_of_lines_is_refused(deployed: Machine, count: str) -> None:
    wrong = deployed.run("logs", "-n", count)

    assert wrong.returncode == 2
    assert f"{count} is not a number of lines; 1 to 999999 are allowed" in wrong.stderr


def test_both_kinds_of_tables_are_lost_and_heal(fresh: Machine) -> None:
    assert fresh.up("us-east-1", settings=("protect=true",)).returncode == 0
    url = fresh.outputs()["urls"]["us-east-1"]
    assert mint(url)[1]["integer"] == 1

    lost = fresh.run("lose", "us-east-1", "--layouts")

    assert lost.stdout.startswith(
        "lost: table global-integers-dev-layouts in us-east-1\nlost: table global-integers-dev-counters in us-east-1\n"
    )
    status = fresh.run("status").stdout
    assert "  us-east-1: doesn't mint: its counters table is lost; to recreate it: " in status
    assert "the layouts table is lost; to recreate it: " in status
    state = fresh.folder / "dev.json"
    whole = json.loads(state.read_text())
    remaining = [made for made in whole["resources"] if made["type"] != "aws:dynamodb/table:Table"]
    state.write_text(
        json.dumps({**whole, "resources": remaining})
    )  # as an `up` that was killed before it made them again
    assert fresh.run("status").stdout == status
    again = fresh.run("lose", "us-east-1")
    assert "global-integers-dev-counters in us-east-1 is lost already; to recreate it: " in again.stderr
    healed = fresh.up("us-east-1", settings=("protect=true",))
    assert healed.returncode == 0, healed.stderr
    assert mint(url)[1]["integer"] > 100_000_000


def test_what_a_killed_down_has_left_is_forgotten(fresh: Machine) -> None:
    state = fresh.folder / "dev.json"
    fresh.up("us-east-1")
    left = state.read_text()
    assert fresh.run("down").returncode == 0
    state.write_text(left)

    assert fresh.up("us-east-1").returncode == 0, "no witness of tables that were another server's"
    assert mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"] == 1


def test_the_same_port_is_used_again(fresh: Machine) -> None:
    before = fresh.up("us-east-1", settings=("paused=[]",)).stdout.partition("http://127.0.0.1:")[2].partition(" ")[0]
    assert fresh.run("down").returncode == 0

    started = fresh.run("up", "-c", 'regions=["us-east-1"]').stdout

    assert started.startswith(f"local AWS server: started on http://127.0.0.1:{before} ")
