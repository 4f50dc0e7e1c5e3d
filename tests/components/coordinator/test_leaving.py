"""Regions that leave: outside of the layout, still there to say where to go, and ready to be deleted."""

import json
from typing import Any

import pytest

from tests.components.aws_answers import FUNCTION, FUNCTION_URL, REST_API, TABLE, url
from tests.components.recording import Deployment
from tests.components.running import PREFIX, THREE, config, deploy

GONE = "us-west-2"
FOUR = (*THREE, GONE)


@pytest.fixture(scope="module")
def deployment(leaving: Deployment) -> Deployment:
    return leaving


def desired(deployment: Deployment) -> dict[str, Any]:
    return json.loads(deployment.reconcile().inputs["input"])["desired"]


def test_the_coordinator_is_told_who_leaves(deployment: Deployment) -> None:
    assert (desired(deployment)["regions"], desired(deployment)["leaving"]) == (list(THREE), [GONE])


def test_a_region_that_leaves_is_not_waited_for(deployment: Deployment) -> None:
    """It may never come back."""
    leaving = {r.urn for r in deployment.resources if GONE in r.name}

    assert len(leaving) > 7
    assert not leaving & deployment.reconcile().dependencies
    assert set(desired(deployment)["tableLabels"]) == set(THREE)


def test_its_function_knows_where_to_go_and_no_other_one_does(deployment: Deployment) -> None:
    variables = {
        f.inputs["region"]: f.inputs["environment"]["variables"].get("LEAVING")
        for f in deployment.of(FUNCTION)
        if f.inputs["name"] == f"{PREFIX}-mint"
    }

    assert variables == {**dict.fromkeys(THREE), GONE: ",".join(THREE)}


@pytest.mark.slow
def test_it_keeps_all_that_it_had(deployment: Deployment) -> None:
    before = deploy(config(*FOUR, apiGateway=True, openCounters=True, dashboard=True))

    alarms = {r.urn for r in before.resources if r.name.startswith(f"integers-monitoring-{GONE}")}
    assert len(alarms) == 1 + 4
    check = {r.urn for r in before.checks() if r.name.endswith(GONE)}
    assert len(check) == 1
    assert sorted(r.urn for r in deployment.resources) == sorted({r.urn for r in before.resources} - alarms - check)
    for kind in (TABLE, FUNCTION_URL, REST_API):
        assert GONE in {made.inputs["region"] for made in deployment.of(kind)}


def test_only_its_tables_lose_their_protection(deployment: Deployment) -> None:
    tables = deployment.of(TABLE)

    assert {t.inputs["region"] for t in tables if t.protect} == set(THREE)
    assert {t.inputs["region"] for t in tables if not t.protect} == {GONE}
    assert all(t.protect == t.inputs["deletionProtectionEnabled"] for t in tables)


def test_those_that_leave_have_an_output_of_their_own(deployment: Deployment) -> None:
    outputs = deployment.outputs

    assert outputs["regions"] == list(THREE)
    assert set(outputs["layout"]) == set(outputs["urls"]) == set(outputs["gatewayUrls"]) == set(THREE)
    assert {place["stride"] for place in outputs["layout"].values()} == {3}
    assert outputs["leaving"] == {GONE: url(GONE)}


def test_nothing_leaves_by_default(signed: Deployment) -> None:
    assert signed.outputs["leaving"] == {}
