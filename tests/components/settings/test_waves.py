"""Minting functions are updated wave after wave, and each wave is checked before the next one."""

import json
from typing import Any

import pytest

from tests.components.aws_answers import FUNCTION, FUNCTION_URL, LOG_GROUP, POLICY, ROLE, TABLE
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly, settings

ONE, TWO, OTHER = THREE


def checked(check: Registration) -> dict[str, str]:
    """Return which region is checked, its default counter, and the digest of its minting function."""
    return json.loads(check.inputs["input"])["check"]


def check_of(deployment: Deployment, region: str) -> Registration:
    (check,) = [check for check in deployment.checks() if checked(check)["region"] == region]
    return check


def waves(deployment: Deployment) -> list[list[str]]:
    """Return the regions that are checked, by the checks that their functions wait for: the fewest first."""
    checks = {check.urn for check in deployment.checks()}
    found: dict[frozenset[str], list[str]] = {}
    for check in deployment.checks():
        region = checked(check)["region"]
        found.setdefault(mint(deployment, region).dependencies & checks, []).append(region)
    return [sorted(wave) for wave in found.values()]


def mint(deployment: Deployment, region: str) -> Registration:
    return deployment.one(FUNCTION, name=f"{PREFIX}-mint", region=region)


def own_policy(deployment: Deployment, region: str) -> Registration:
    return deployment.one(POLICY, role=f"{PREFIX}-mint-{region}")


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


def test_the_regions_that_mint_are_checked_in_their_waves(signed: Deployment) -> None:
    assert waves(signed) == [[ONE], [OTHER, TWO]]
    assert waves(deploy(config(ONE, TWO, leaving=["us-west-2"], paused=[ONE]))) == [[TWO]]


def test_a_wave_waits_for_all_checks_of_the_one_before() -> None:
    more = "sa-east-1"
    deployment = deploy(config(*THREE, more, waves=[[TWO], ["rest"], [ONE]], leaving=["us-west-2"]))
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate").urn
    before = {coordinate}

    for wave, checked_regions in (([TWO], [TWO]), ([OTHER, more, "us-west-2"], [OTHER, more]), ([ONE], [ONE])):
        for region in wave:
            assert before <= mint(deployment, region).dependencies
            assert before <= own_policy(deployment, region).dependencies
        checks = {region: check_of(deployment, region) for region in checked_regions}
        for region, check in checks.items():
            assert {mint(deployment, region).urn, coordinate} <= check.dependencies
        before = {check.urn for check in checks.values()}
    left = mint(deployment, "us-west-2").urn
    assert not any(left in check.dependencies for check in deployment.checks()), "it may never come back"


def test_tables_logs_and_roles_wait_for_no_check(signed: Deployment) -> None:
    checks = {check.urn for check in signed.checks()}

    for kind in (TABLE, LOG_GROUP, ROLE, FUNCTION_URL):
        assert [resource.name for resource in signed.of(kind) if checks & resource.dependencies] == []


def test_after_a_bad_check_no_other_region_is_changed() -> None:
    error, deployment = deploy_badly(config(ONE, TWO), failing="integers-coordinator-check-us-east-1")

    assert "check-us-east-1 can't be made" in str(error)
    assert [f.inputs["region"] for f in deployment.of(FUNCTION) if f.inputs["name"] == f"{PREFIX}-mint"] == [ONE]
    assert deployment.reconciling() == []


def test_after_the_last_wave_the_layout_is_reconciled() -> None:
    """A region that is down belongs in the last wave: all others must get their layouts."""
    error, deployment = deploy_badly(config(ONE, TWO), failing="integers-coordinator-check-eu-west-1")

    assert "check-eu-west-1 can't be made" in str(error)
    assert len(deployment.reconciling()) == 1


def test_a_check_is_a_new_invocation_at_home(signed: Deployment) -> None:
    for check in signed.checks():
        assert (check.inputs["region"], check.inputs["functionName"]) == (HOME, f"{PREFIX}-coordinate")
        assert check.inputs["lifecycleScope"] == "CREATE_ONLY"
        assert checked(check)["counter"] == "integers"


@pytest.mark.parametrize("changed", [{"memorySize": 512}, {"lease": 100}])
def test_a_function_that_changes_is_checked_again(one: Deployment, changed: dict[str, Any]) -> None:
    (check,), (again,) = one.checks(), deploy(config(HOME, **changed)).checks()

    assert checked(check)["digest"] != checked(again)["digest"]


def test_what_changes_no_function_checks_nothing(signed: Deployment) -> None:
    more: dict[str, Any] = {"logRetentionDays": 30, "window": 1000, "waves": [], "leaving": ["us-west-2"]}
    changed = deploy(config(*reversed(THREE), "sa-east-1", **more))

    for region in THREE:
        assert check_of(changed, region).inputs["input"] == check_of(signed, region).inputs["input"]
        assert check_of(changed, region).urn == check_of(signed, region).urn


def test_a_preview_knows_whether_a_check_runs(one: Deployment) -> None:
    preview = deploy(config(HOME), aws=Aws(preview=True, standing=True))

    assert check_of(preview, HOME).inputs["input"] == check_of(one, HOME).inputs["input"]


def test_the_counter_of_the_check_is_asked_for(signed: Deployment) -> None:
    assert json.loads(signed.reconcile().inputs["input"])["desired"]["counters"] == ["integers", "-check"]
