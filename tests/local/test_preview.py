"""The check of the settings before anything is started."""

import pulumi
import pytest

from local.configuration import configuration, project
from local.paths import LocalError
from local.preview import check
from tests.local.machine import Machine


def test_the_programs_own_settings_are_right() -> None:
    check(project()["name"], "dev", configuration("dev"))


def test_a_wrong_setting_is_reported() -> None:
    with pytest.raises(LocalError, match="memorySize: 1 is out of range"):
        check(project()["name"], "dev", configuration("dev", ["memorySize=1"]))


def test_an_error_of_the_program_itself_is_raised() -> None:
    def program() -> None:
        pulumi.export("one", 1 // int(pulumi.Config("p").require("zero")))

    with pytest.raises(ZeroDivisionError):
        check("p", "dev", {"p:zero": "0"}, program)


def test_wrong_settings_start_no_server(fresh: Machine) -> None:
    wrong = fresh.up("eu-wset-1")

    assert wrong.returncode == 1
    assert "did you mean 'eu-west-1'?" in wrong.stderr
    assert "started" not in wrong.stdout
    assert not (fresh.folder / "server.json").exists()
