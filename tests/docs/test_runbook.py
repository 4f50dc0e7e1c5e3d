"""The runbook quotes the coordinator's and the program's messages, and its first deployment is one of this program."""

import re

import pytest
from coordinate.protocol.refusals import lost_everything, stray

from components.monitoring.alarms import ALARMS
from components.names import ResourceNames
from local.paths import ROOT
from tests.components.running import STACK, THREE, config, deploy, settings
from tests.docs.pages import commands, deployments, page, section

FIRST = section("runbook.md", "First deployment")


@pytest.mark.parametrize(
    ("heading", "refusal", "end"),
    [
        ("Two losses at once", lost_everything("<id>", {}), "but there was a deployment:"),
        ("A stray item", stray("integers", "the layouts table"), "can't be read"),
    ],
)
def test_the_coordinators_refusals_are_found(heading: str, refusal: Exception, end: str) -> None:
    begins, found, _ = str(refusal).removeprefix("integers: ").partition(end)

    assert found
    assert f"{begins}{end}" in section("runbook.md", heading)


def test_the_programs_refusal_is_found() -> None:
    quoted = "a region can't be removed before it has left"

    assert f"`{quoted}`" in page("runbook.md")
    assert quoted in (ROOT / "components" / "coordinator" / "deployment.py").read_text()


def test_the_first_deployment_has_the_names_of_its_stack() -> None:
    names = ResourceNames("global-integers-trial")
    every = {name for name in vars(names).values() if name != names.prefix} | {names.alarm(key) for key in ALARMS}
    named = set(re.findall(r"global-integers-trial-[\w-]+", FIRST))

    assert {names.mint_function, names.counters_table, names.gateway_api} <= named <= every


def test_what_is_imported_is_in_the_program_in_its_region() -> None:
    """Without its region behind the id, Pulumi reads the provider's."""
    (command,) = commands(page("runbook.md"), "pulumi import")
    kind, name, identity = command[-3:]
    (made,) = (each for each in deploy(config(*THREE)).of(kind) if each.name == name)

    assert identity == f"{made.inputs['name'].replace(STACK, 'production')}@{made.inputs['region']}"
    assert f"::{made.urn.rpartition('::')[2].removesuffix('-function')}" in command[command.index("--parent") + 1]


def test_the_settings_of_the_first_deployment_are_accepted() -> None:
    found = next(deployments(FIRST))
    accepted = settings(config(*found.pop("regions"), home=found.pop("aws:region"), **found))

    assert (accepted.regions, len(accepted.kms_keys)) == (("us-east-1", "eu-south-1"), 2)
    assert accepted.hosted_zone
