"""What a user of `python -m local` sees."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from local.configuration import configuration
from local.engine import Engine
from local.paths import ROOT, LocalError
from local.program import Registration
from local.resources import Aws
from local.state import State
from tests.local.machine import Machine, mint, processes_of

DEV = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def test_the_outputs_are_the_programs(deployed: Machine) -> None:
    outputs = deployed.outputs()

    assert list(outputs) == ["regions", "layout", "urls", "gatewayUrls", "counters", "coordinator"]
    assert outputs["regions"] == DEV
    assert outputs["layout"] == {region: {"offset": n, "stride": 3} for n, region in enumerate(DEV, 1)}
    assert list(outputs["urls"]) == DEV
    assert all(url.startswith(f"http://127.0.0.1:{deployed.port}/") for url in outputs["urls"].values())
    assert outputs["counters"]["integers"] == {"epoch": 1, "base": 1, "regions": outputs["layout"]}


def test_up_again_changes_nothing_and_minting_goes_on(deployed: Machine) -> None:
    outputs = deployed.outputs()
    _, before = mint(outputs["urls"]["eu-west-1"])

    again = deployed.up()

    assert "dev: 33 unchanged\n" in again.stdout
    assert deployed.outputs() == outputs
    assert mint(outputs["urls"]["eu-west-1"])[1]["integer"] == before["integer"] + 3


def test_progress_is_told_per_counter_and_phase(fresh: Machine) -> None:
    first = fresh.up("us-east-1")
    changed = fresh.up("us-east-1", "eu-west-1")

    assert "layout    integers: epoch 1 from 1: opened" in first.stdout
    assert "layout    integers: epoch 2 from 10001: opened" in changed.stdout


def test_a_changed_setting_is_applied_in_place(deployed: Machine) -> None:
    outputs = deployed.outputs()

    changed = deployed.up(settings=("memorySize=512",))

    assert "3 updated" in changed.stdout
    assert deployed.outputs() == outputs
    assert mint(outputs["urls"]["us-east-1"])[0] == 200
    deployed.up()


def test_the_demo_mints_in_every_region(deployed: Machine) -> None:
    shown = deployed.run("demo")

    assert shown.returncode == 0
    lines = [line.split() for line in shown.stdout.splitlines() if line.startswith(tuple(DEV))]
    assert [line[:3] for line in lines] == [[region, str(n), "3"] for n, region in enumerate(DEV, 1)]
    integers = [[int(cell.rstrip(",")) for cell in line[3:8]] for line in lines]
    assert all(n % 3 == place % 3 for place, row in enumerate(integers, 1) for n in row)


def test_a_counter_of_the_settings_answers_at_its_path(deployed: Machine) -> None:
    deployed.up(settings=('counters=["integers", "orders"]',))
    url = deployed.outputs()["urls"]["ap-southeast-2"]

    assert mint(url, "orders", method="GET")[1] == {"counter": "orders", "region": "ap-southeast-2", "integer": 3}
    deployed.up()


def test_wrong_settings_are_told_and_nothing_runs_differently(deployed: Machine) -> None:
    url = deployed.outputs()["urls"]["us-east-1"]

    wrong = deployed.up("us-east-1", "eu-wset-1", settings=("memorySize=1",))

    assert wrong.returncode == 1
    assert "'eu-wset-1' is not an AWS region; did you mean 'eu-west-1'?" in wrong.stderr
    assert "memorySize: 1 is out of range; 128 to 10240 are allowed" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert mint(url)[0] == 200


def test_a_failing_coordinators_message_reaches_the_user(deployed: Machine) -> None:
    wrong = deployed.up(settings=('floors={"nonesuch": 5}',))

    assert wrong.returncode == 1
    assert "floors: there is no counter nonesuch" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert deployed.up().returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("up", "--stack", "nonesuch"), "there is no Pulumi.nonesuch.yaml; known stacks are dev, local"),
        (("up", "-c", "regions"), "not of the form key=value"),
        (("up", "--port", "1"), "the server runs on port"),
        (("outputs", "--stack", "local"), "stack local is not deployed here"),
    ],
)
def test_wrong_arguments_are_told(deployed: Machine, arguments: tuple[str, ...], told: str) -> None:
    wrong = deployed.run(*arguments)

    assert wrong.returncode == 1
    assert told in wrong.stderr


def test_down_leaves_no_process_and_no_port_and_may_be_said_twice(fresh: Machine) -> None:
    fresh.up("us-east-1")
    url = fresh.outputs()["urls"]["us-east-1"]
    assert mint(url)[0] == 200
    assert processes_of(fresh.folder)

    assert fresh.run("down").returncode == 0
    assert processes_of(fresh.folder) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", fresh.port)) != 0
    assert fresh.run("down").stdout == "nothing ran here\n"
    assert "nothing runs here; start it: python -m local up" in fresh.run("outputs").stderr


def test_a_port_that_is_taken_is_told(fresh: Machine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        wrong = fresh.run("up", "--port", str(port))

    assert wrong.returncode == 1
    assert f"port {port} is taken by something else" in wrong.stderr
    assert processes_of(fresh.folder) == []


def test_a_resource_that_cant_be_made_here_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder))
    engine = Engine(Aws("http://127.0.0.1:1"), State("dev"), print)
    queue = Registration("urn", "aws:sqs/queue:Queue", "my-queue", True, {}, False, frozenset(), (), ())

    with pytest.raises(LocalError, match=r"my-queue: .* aws:sqs/queue:Queue .*local/kinds.py"):
        engine.create(queue)


def test_one_output_is_printed_for_scripts(deployed: Machine) -> None:
    outputs = deployed.outputs()

    assert deployed.run("outputs", "urls.eu-west-1").stdout == outputs["urls"]["eu-west-1"] + "\n"
    assert json.loads(deployed.run("outputs", "regions").stdout) == outputs["regions"]
    assert json.loads(deployed.run("outputs", "layout", "--json").stdout) == outputs["layout"]
    wrong = deployed.run("outputs", "urls.eu-wset-1")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "there is us-east-1, eu-west-1, ap-southeast-2" in wrong.stderr


def test_a_reader_that_stops_early_is_no_traceback(deployed: Machine) -> None:
    command = f"{sys.executable} -m local outputs | true"
    result = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=deployed.environment, capture_output=True, text=True, timeout=60
    )

    assert result.stderr == ""


def test_a_setting_that_stands_twice_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("local.configuration.ROOT", tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: x\nconfig: {}\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  x:protect: false\n  x:lease: 2\n  x:protect: true\n")

    with pytest.raises(LocalError, match="x:protect stands twice"):
        configuration("dev")


def test_down_removes_only_its_own(fresh: Machine) -> None:
    (fresh.folder / "photos").mkdir()
    (fresh.folder / "photos" / "a.jpg").write_text("x")
    (fresh.folder / "notes.json").write_text("{}")
    assert fresh.up("us-east-1").returncode == 0

    assert "forgotten" in fresh.run("down").stdout
    left = {str(path.relative_to(fresh.folder)) for path in fresh.folder.rglob("*") if path.is_file()}
    assert left == {"photos/a.jpg", "notes.json", "lock", "server.log"}
