"""Regions that leave: outside of the layout, still there to say where to go, and ready to be deleted."""

from typing import Any

import pytest

from tests.components.aws_answers import TABLE
from tests.components.recording import Deployment
from tests.components.registrations import SHOWN
from tests.components.running import THREE, config, deploy

GONE = "us-west-2"


def test_a_region_that_leaves_is_not_waited_for(leaving: Deployment) -> None:
    """It may never come back."""
    gone = {made.urn for made in leaving.resources if GONE in made.name}

    assert len(gone) > 7
    assert not gone & leaving.reconcile().dependencies


@pytest.mark.slow
def test_it_keeps_all_that_it_had(leaving: Deployment) -> None:
    more: dict[str, Any] = {**SHOWN, "leaving": []}
    before = deploy(config(*THREE, GONE, **more))

    alarms = {made.urn for made in before.resources if made.name.startswith(f"integers-monitoring-{GONE}")}
    assert len(alarms) == 1 + 4
    (check,) = (made.urn for made in before.checks() if made.name.endswith(GONE))
    assert sorted(made.urn for made in leaving.resources) == sorted(
        {made.urn for made in before.resources} - alarms - {check}
    )


def test_only_its_tables_lose_their_protection(leaving: Deployment) -> None:
    tables = leaving.of(TABLE)

    assert {table.inputs["region"] for table in tables if table.protect} == set(THREE)
    assert {table.inputs["region"] for table in tables if not table.protect} == {GONE}
    assert all(table.protect == table.inputs["deletionProtectionEnabled"] for table in tables)
