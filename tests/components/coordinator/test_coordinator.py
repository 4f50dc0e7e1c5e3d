"""The coordinator: a deployment reconciles the layout by it, and gives the URLs out afterwards; a schedule runs it."""

import json
import re

import pulumi
import pytest

from components.coordinator import rate
from local.engine.program import FAILED
from tests.components.aws_answers import (
    ALIAS,
    FUNCTION,
    FUNCTION_URL,
    INVOCATION,
    PERMISSION,
    POLICY,
    RETRIES,
    RULE,
    STASH,
    TABLE,
    TARGET,
)
from tests.components.recording import Aws, Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly

TWO = THREE[:2]
AT = f"integers-coordinator-{HOME}"
RECONCILE = f"{AT}-reconcile"
OF_HOME = re.compile(rf"^{AT}|^integers-monitoring-{HOME}-(noRun|any)")
WITNESS = "integers-coordinator-first-layouts"


def test_the_coordinator_waits_for_all_that_it_opens(public_domain: Deployment) -> None:
    deployment = public_domain
    needed = {r.urn for r in (*deployment.of(FUNCTION), *deployment.of(TABLE)) if r.inputs["region"] != "us-west-2"}

    assert len(needed) == 4 + 8
    needed.add(deployment.one(POLICY, role=f"{PREFIX}-coordinate-{HOME}", name="next").urn)
    assert needed <= deployment.reconcile().dependencies


def test_no_region_waits_for_another_one_but_for_its_wave(leaving: Deployment) -> None:
    """It changes when callers reach the new versions of the wave before."""
    deployment = leaving
    own = {
        r.urn: next((region for region in (*THREE, "us-west-2") if region in OF_HOME.sub("", r.name)), "home")
        for r in deployment.resources
    }
    releases = deployment.releases()
    regional = [r for r in deployment.resources if own[r.urn] != "home" and r not in (*deployment.checks(), *releases)]
    home = {r.urn for r in deployment.resources if own[r.urn] == "home"}

    assert len(regional) > 4 * 7
    for resource in regional:
        others = {urn for urn in resource.dependencies - home if own[urn] != own[resource.urn]}
        in_its_wave = resource.type in (FUNCTION, POLICY) and "-gateway-" not in resource.name
        last = resource.name.endswith("-own-policy")
        waits = in_its_wave and own[resource.urn] != THREE[0] and not last
        assert others == ({releases[0].urn} if waits else set()), resource.name


def test_the_new_coordinator_checks_itself_before_it_is_used(signed: Deployment) -> None:
    """By its number, which nobody else calls."""
    (itself,) = [r for r in signed.of(INVOCATION) if r.name == f"{AT}-self"]
    coordinate = signed.one(FUNCTION, name=f"{PREFIX}-coordinate")

    assert itself.inputs["qualifier"] == "1"
    build = coordinate.inputs["environment"]["variables"]["BUILD"]
    assert json.loads(itself.inputs["input"])["self"]["build"] == build
    assert coordinate.urn in itself.dependencies
    assert signed.one(POLICY, role=f"{PREFIX}-coordinate-{HOME}", name="own").dependencies >= {itself.urn}
    others = [r for r in signed.of(INVOCATION) if r is not itself]
    for resource in (*others, *signed.of(ALIAS)):
        if resource.inputs["functionName"] == f"{PREFIX}-coordinate":
            assert itself.urn in resource.dependencies, resource.name
    assert {r.inputs["qualifier"] for r in others} == {"deployments"}


def test_where_the_coordinator_fails_the_schedule_goes_on() -> None:
    error, deployment = deploy_badly(config(*TWO), failing=RECONCILE)

    assert f"{RECONCILE} can't be made" in str(error)
    assert deployment.outputs["urls"] == dict.fromkeys(TWO, FAILED), "no URL is given out"
    assert {resource.type for resource in deployment.resources} >= {RULE, TARGET, RETRIES}
    assert deployment.one(ALIAS, name="deployments").urn in deployment.one(TARGET).dependencies


@pytest.mark.slow
@pytest.mark.parametrize("failing", [RECONCILE, f"{AT}-coordinate-function"])
def test_the_program_fails_where_the_engine_goes_on(failing: str) -> None:
    """With --continue-on-error, only this keeps Pulumi from deleting a region that the coordinator hasn't let go."""
    error, _ = deploy_badly(config(*TWO), aws=Aws(failing=failing, continuing=True))

    assert isinstance(error, pulumi.RunError)
    assert str(error) == "the coordinator has not agreed to this deployment, so nothing is deleted"


@pytest.mark.slow
@pytest.mark.parametrize("failing", [TABLE, FUNCTION, WITNESS, FUNCTION_URL, PERMISSION])
def test_no_url_is_given_out_where_something_is_missing(failing: str) -> None:
    _, deployment = deploy_badly(config(HOME, authorization="NONE"), failing=failing)

    assert deployment.outputs["urls"] == {HOME: FAILED}
    if failing in (TABLE, FUNCTION, WITNESS):
        assert deployment.reconciling() == [], "without its witness the coordinator isn't asked, either"


@pytest.mark.slow
def test_the_coordinator_notices_that_its_settings_were_not_published(leaving: Deployment) -> None:
    """By its build, which they change."""
    more = deploy(config(*THREE, apiGateway=True, leaving=["us-west-2"], openCounters=True, maxCounters=7))
    builds = {
        each.one(FUNCTION, name=f"{PREFIX}-coordinate").inputs["environment"]["variables"]["BUILD"]
        for each in (leaving, more)
    }

    assert len(builds) == 2


def test_what_is_at_home_stays_where_it_was_created(signed: Deployment) -> None:
    """Another home region is refused, but an update without a preview begins to replace resources before."""
    at_home = [r for r in signed.resources if "-coordinator-" in r.name and "region" in r.inputs]

    assert len(at_home) > 20
    assert [r.name for r in at_home if "region" not in r.ignore_changes] == []


def test_what_holds_data_is_deleted_before_its_witness(leaving: Deployment) -> None:
    """So after a `pulumi destroy` that was interrupted, the layouts table is whole, or nothing is left."""
    (witness,) = leaving.of(STASH)
    layouts = leaving.one(TABLE, name=f"{PREFIX}-layouts")
    others = [table for table in leaving.of(TABLE) if table is not layouts]

    assert witness.protect, "a deployment that replaces it would forget the first label"
    assert {table.inputs["region"] for table in others} == {*THREE, "us-west-2"}
    assert [table.name for table in others if witness.urn not in table.dependencies] == []
    assert witness.dependencies == {layouts.urn}
    assert layouts.dependencies == set()


def test_the_unit_agrees_with_the_number() -> None:
    """EventBridge demands it."""
    assert [rate(minutes) for minutes in (1, 2, 60)] == ["rate(1 minute)", "rate(2 minutes)", "rate(60 minutes)"]
