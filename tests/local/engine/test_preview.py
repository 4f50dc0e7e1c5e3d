"""What `up` would do, and what is refused before anything is started or changed."""

import re
from collections.abc import Callable, Mapping

import pulumi
import pytest

from local.engine import Engine, deploy
from local.engine.program import main
from local.stack import State, configuration, project
from tests.local.machine import Machine


def previewed(config: Mapping[str, str], program: Callable[[], None] = main, name: str = "") -> list[str]:
    """Return what a preview without a server reports."""
    reported: list[str] = []
    engine = Engine(None, State("dev", frozen=True), lambda event, _kind, _name: reported.append(event))
    deploy(engine, name or project()["name"], config, program)
    return reported


@pytest.mark.slow
def test_without_a_server_everything_would_be_created() -> None:
    assert set(previewed(configuration("dev"))) == {"create"}


def test_an_error_of_the_program_itself_is_raised() -> None:
    def program() -> None:
        pulumi.export("one", 1 // int(pulumi.Config("p").require("zero")))

    with pytest.raises(ZeroDivisionError):
        previewed({"p:zero": "0"}, program, "p")


def test_a_preview_says_what_up_would_do_and_changes_nothing(deployed: Machine) -> None:
    before = (deployed.folder / "dev.json").read_bytes()
    regions = 'regions=["us-east-1", "eu-west-1", "ap-southeast-2", "eu-west-3"]'

    unchanged, changed = deployed.run("preview"), deployed.run("preview", "-c", regions, "-c", "window=50000")

    lasting = "at the last run, each region could mint without the home region about: integers 1,000, orders 1,000"
    there = re.fullmatch(rf"{lasting}\ndev: (\d+) unchanged; nothing was changed\n", unchanged.stdout)
    assert there
    *resources, said, last, _ = changed.stdout.splitlines()
    assert "  create    Table                     integers-eu-west-3-table" in resources
    assert "  replace   Invocation                integers-coordinator-us-east-1-reconcile" in resources
    assert said == (
        "integers: epoch 1 → 2, gap about 300, or what lasts ten seconds; "
        "orders: epoch 1 → 2, gap about 300, or what lasts ten seconds; "
        "the same for counters that aren't in the settings; joining: eu-west-3; window: 1,000 → 50,000"
    )
    assert last == lasting
    assert f"dev: {int(there[1]) - 1} unchanged, 17 to create, 1 to replace; nothing was changed\n" in changed.stdout
    assert (deployed.folder / "dev.json").read_bytes() == before
