"""Runs of `python -m local` that end half-way, or meet: the next one goes on."""

import json
import os
import signal
import time

from local.resources import Aws
from tests.local.machine import Machine, chosen, mint, processes_of


def test_a_server_that_died_is_told_and_nothing_starts_over_silently(fresh: Machine) -> None:
    fresh.up("us-east-1")
    os.killpg(fresh.server(), signal.SIGKILL)
    while processes_of(fresh.folder):
        time.sleep(0.01)

    for command in ("up", "outputs", "demo"):
        told = fresh.run(command)
        assert told.returncode == 1
        assert "has ended, and with it its tables" in told.stderr
        assert "python -m local down" in told.stderr
    assert fresh.run("down").returncode == 0
    assert fresh.up("us-east-1").returncode == 0
    assert mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"] == 1


def test_an_interrupted_up_goes_on_when_run_again(fresh: Machine) -> None:
    with fresh.start("up", "--port", str(fresh.port)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "created   Table" in line:
                process.send_signal(signal.SIGINT)
                break
        _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "the same command goes on from here" in err
    assert fresh.up().returncode == 0
    assert mint(fresh.outputs()["urls"]["eu-west-1"])[1]["integer"] == 2


def test_what_a_killed_run_made_is_taken_over_and_minting_goes_on(fresh: Machine) -> None:
    fresh.up("us-east-1")
    url = fresh.outputs()["urls"]["us-east-1"]
    assert mint(url)[1]["integer"] == 1
    (fresh.folder / "dev.json").unlink()  # as if none of it had been written down

    again = fresh.up("us-east-1")

    assert again.returncode == 0, again.stderr
    assert mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"] == 2


def test_a_killed_up_goes_on_when_run_again(fresh: Machine) -> None:
    with fresh.start("up", "--port", str(fresh.port)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "created   RolePolicy" in line:
                process.kill()
                break
        process.communicate(timeout=60)

    again = fresh.up()

    assert again.returncode == 0, again.stderr
    assert mint(fresh.outputs()["urls"]["eu-west-1"])[1]["integer"] == 2


def test_damaged_state_is_told(fresh: Machine) -> None:
    fresh.up("us-east-1")
    state, server = fresh.folder / "dev.json", fresh.folder / "server.json"
    state.write_text(state.read_text()[:-20])
    damaged = fresh.up("us-east-1")
    assert damaged.returncode == 1
    assert "dev.json is damaged" in damaged.stderr
    assert "Traceback" not in damaged.stderr
    state.unlink()
    assert fresh.up("us-east-1").returncode == 0

    whole = server.read_text()
    server.write_text("{")
    assert "server.json is damaged" in fresh.run("down").stderr
    server.write_text(whole)


def test_two_ups_at_once_do_one_after_the_other(fresh: Machine) -> None:
    fresh.up("us-east-1")
    with (
        fresh.start("up", *chosen("us-east-1", "eu-west-1")) as one,
        fresh.start("up", *chosen("us-east-1", "eu-west-1")) as two,
    ):
        ended = [process.communicate(timeout=120) for process in (one, two)]

    assert [one.returncode, two.returncode] == [0, 0], ended
    assert fresh.outputs()["counters"]["integers"]["epoch"] == 2


def test_a_role_that_a_killed_run_had_half_made_is_removed(fresh: Machine) -> None:
    assert fresh.up("us-east-1", "eu-west-1").returncode == 0
    iam = Aws(f"http://127.0.0.1:{fresh.port}").client("iam", "us-east-1")
    role = "global-integers-dev-mint-eu-west-1"
    own = iam.get_role_policy(RoleName=role, PolicyName="own")["PolicyDocument"]
    iam.put_role_policy(RoleName=role, PolicyName="left", PolicyDocument=json.dumps(own))

    result = fresh.up("us-east-1")

    assert result.returncode == 0, result.stderr
    assert role not in {found["RoleName"] for found in iam.list_roles()["Roles"]}
