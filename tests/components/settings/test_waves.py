"""Minting functions are updated wave after wave: checked, released to callers, and then comes the next wave."""

import json
from typing import Any

import pytest

from tests.components.aws_answers import ALIAS, FUNCTION, LOG_GROUP, POLICY, ROLE, TABLE
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly, settings

ONE, TWO, OTHER = THREE


def asked(invocation: Registration) -> dict[str, Any]:
    """Return which version of which region is checked or released, its default counter, and the function's digest."""
    (found,) = json.loads(invocation.inputs["input"]).values()
    return found


def check_of(deployment: Deployment, region: str) -> Registration:
    return next(check for check in deployment.checks() if asked(check)["region"] == region)


def release_of(deployment: Deployment, region: str) -> Registration:
    return next(release for release in deployment.releases() if asked(release)["region"] == region)


def mint(deployment: Deployment, region: str) -> Registration:
    return deployment.one(FUNCTION, name=f"{PREFIX}-mint", region=region)


def policy(deployment: Deployment, region: str, name: str) -> Registration:
    return deployment.one(POLICY, role=f"{PREFIX}-mint-{region}", name=name)


def alias(deployment: Deployment, region: str) -> Registration:
    return deployment.one(ALIAS, functionName=f"{PREFIX}-mint", region=region)


@pytest.mark.parametrize(
    ("waves", "expected"),
    [
        ({}, [[ONE], [TWO, OTHER]]),
        ({"regions": [ONE]}, [[ONE]]),
        ({"waves": []}, [[*THREE]]),
        ({"waves": [[TWO], [ONE], [OTHER]]}, [[TWO], [ONE], [OTHER]]),
        ({"waves": [[TWO], [ONE]]}, [[TWO], [ONE, OTHER]]),
        ({"waves": [["first"], [OTHER], ["rest"]]}, [[ONE], [OTHER], [TWO]]),
        ({"waves": [["rest"], [ONE]]}, [[TWO, OTHER], [ONE]]),
        ({"leaving": ["us-west-2"]}, [[ONE], [TWO, OTHER, "us-west-2"]]),
    ],
)
def test_every_region_is_in_a_wave(waves: dict[str, Any], expected: list[list[str]]) -> None:
    found = settings(config(home=HOME, **{"regions": THREE, **waves})).waves

    assert [list(wave) for wave in found] == expected


@pytest.mark.slow
def test_a_wave_waits_for_all_releases_of_the_one_before() -> None:
    more = "sa-east-1"
    deployment = deploy(config(*THREE, more, waves=[[TWO], ["rest"], [ONE]], leaving=["us-west-2"]))
    before = {deployment.one(ALIAS, name="deployments").urn}

    for wave, minting in (([TWO], [TWO]), ([OTHER, more, "us-west-2"], [OTHER, more]), ([ONE], [ONE])):
        for region in wave:
            assert before <= mint(deployment, region).dependencies
            assert before <= policy(deployment, region, "next").dependencies
        checks = {check_of(deployment, region).urn for region in minting}
        for region in minting:
            release = release_of(deployment, region)
            assert mint(deployment, region).urn in check_of(deployment, region).dependencies
            assert alias(deployment, region).urn in release.dependencies
            assert release.dependencies & {check.urn for check in deployment.checks()} == checks
        before = {release_of(deployment, region).urn for region in minting}


def test_an_alias_is_made_after_its_first_check(signed: Deployment) -> None:
    """From then on, the coordinator moves it and its own, and Pulumi doesn't."""
    for region in THREE:
        assert check_of(signed, region).urn in alias(signed, region).dependencies
    for each in signed.of(ALIAS):
        assert {"functionVersion", "description"} <= set(each.ignore_changes)


def test_a_right_goes_when_callers_reach_the_new_version(signed: Deployment) -> None:
    """What it needs itself is allowed before it exists."""
    for region in THREE:
        assert policy(signed, region, "next").urn in mint(signed, region).dependencies
        assert release_of(signed, region).urn in policy(signed, region, "own").dependencies
        assert policy(signed, region, "own").ignore_changes == ()


def test_a_paused_region_has_no_check_until_it_runs_again() -> None:
    """Nothing of its old version is taken away: it comes back with it."""
    deployment = deploy(config(ONE, TWO, paused=[ONE]))

    for event in (asked(check_of(deployment, ONE)), asked(release_of(deployment, ONE))):
        assert event["paused"] is True
    assert "paused" not in asked(check_of(deployment, TWO))
    assert policy(deployment, ONE, "own").ignore_changes == ("policy",)
    assert policy(deployment, TWO, "own").ignore_changes == ()


@pytest.mark.slow
def test_nobody_waits_for_a_region_that_leaves() -> None:
    """It may be one that never comes back."""
    deployment = deploy(config(ONE, TWO, leaving=["us-west-2"], waves=[["us-west-2"], ["rest"]]))
    gone = {made.urn for made in deployment.resources if "us-west-2" in made.name}
    release = release_of(deployment, "us-west-2")
    checks = {check.urn for check in deployment.checks()}

    assert asked(release)["leaving"] is True
    assert [check for check in deployment.checks() if asked(check)["region"] == "us-west-2"] == []
    assert not checks & release.dependencies
    others = (release_of(deployment, region) for region in (ONE, TWO))
    for each in (*deployment.checks(), *others, deployment.reconcile()):
        assert not gone & each.dependencies


def test_tables_logs_and_roles_wait_for_no_check(signed: Deployment) -> None:
    """And the build, by which the coordinator says which aliases have moved, is the same in all regions."""
    checks = {check.urn for check in (*signed.checks(), *signed.releases())}

    assert len({asked(check)["build"] for check in signed.checks()}) == 1
    for kind in (TABLE, LOG_GROUP, ROLE):
        assert [resource.name for resource in signed.of(kind) if checks & resource.dependencies] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "changed"), [("check-us-east-1", [ONE]), ("release-us-east-1", [ONE]), ("check-eu-west-1", [ONE, TWO])]
)
def test_after_a_bad_check_no_later_wave_is_changed(failing: str, changed: list[str]) -> None:
    """A region that is down belongs in the last wave: after that, all others get their layouts."""
    error, deployment = deploy_badly(config(ONE, TWO), failing=f"integers-coordinator-{HOME}-{failing}")

    assert f"{failing} can't be made" in str(error)
    assert [f.inputs["region"] for f in deployment.of(FUNCTION) if f.inputs["name"] == f"{PREFIX}-mint"] == changed
    assert len(deployment.reconciling()) == (changed == [ONE, TWO])


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{"memorySize": 512}, {"lease": 100}])
def test_a_function_that_changes_is_checked_again(one: Deployment, changed: dict[str, Any]) -> None:
    (check,), (again,) = one.checks(), deploy(config(HOME, **changed)).checks()

    for part in ("digest", "build"):
        assert asked(check)[part] != asked(again)[part]


@pytest.mark.slow
def test_what_changes_no_function_checks_nothing(signed: Deployment) -> None:
    more: dict[str, Any] = {"logRetentionDays": 30, "window": 1000, "waves": [], "leaving": ["us-west-2"]}
    changed = deploy(config(*reversed(THREE), "sa-east-1", **more))

    for region in THREE:
        assert check_of(changed, region).inputs["input"] == check_of(signed, region).inputs["input"]
        assert check_of(changed, region).urn == check_of(signed, region).urn
        assert release_of(changed, region).inputs["input"] == release_of(signed, region).inputs["input"]


def test_a_preview_knows_whether_a_check_runs(one: Deployment) -> None:
    preview = deploy(config(HOME), aws=Aws(preview=True, standing=True))

    assert check_of(preview, HOME).inputs["input"] == check_of(one, HOME).inputs["input"]
