"""Minting functions are updated wave after wave, and each wave is checked before the next one."""

import json
from typing import Any

import pytest

from components.settings import SettingsError
from tests.components.aws_answers import FUNCTION, FUNCTION_URL, LOG_GROUP, POLICY, ROLE, TABLE
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly

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
    ("given", "expected"),
    [
        ({}, [[ONE], [OTHER, TWO]]),
        ({"regions": [ONE]}, [[ONE]]),
        ({"waves": []}, [[OTHER, TWO, ONE]]),
        ({"waves": [[TWO], [ONE], [OTHER]]}, [[TWO], [ONE], [OTHER]]),
        ({"waves": [[TWO], [ONE]]}, [[TWO], [OTHER, ONE]]),
        ({"waves": [["first"], [OTHER], ["rest"]]}, [[ONE], [OTHER], [TWO]]),
        ({"waves": [["rest"], [ONE]]}, [[OTHER, TWO], [ONE]]),
        ({"paused": [ONE]}, [[OTHER, TWO]]),
        ({"leaving": ["us-west-2"]}, [[ONE], [OTHER, TWO]]),
    ],
)
def test_the_regions_that_mint_are_checked_in_their_waves(given: dict[str, Any], expected: list[list[str]]) -> None:
    settings = {"regions": THREE, **given}
    deployment = deploy(config(home=HOME, **settings))

    assert waves(deployment) == [sorted(wave) for wave in expected]


def test_a_wave_waits_for_the_checks_of_the_one_before_and_each_for_its_function() -> None:
    deployment = deploy(config(*THREE, waves=[[TWO], ["rest"], [ONE]], leaving=["us-west-2"]))
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate").urn
    before = coordinate

    for wave in ([TWO], [OTHER, "us-west-2"], [ONE]):
        for region in wave:
            assert before in mint(deployment, region).dependencies
            assert before in own_policy(deployment, region).dependencies
        check = check_of(deployment, wave[0])
        assert {mint(deployment, wave[0]).urn, coordinate} <= check.dependencies
        before = check.urn
    left = mint(deployment, "us-west-2").urn
    assert not any(left in check.dependencies for check in deployment.checks()), "it may never come back"


def test_a_wave_waits_for_all_checks_of_the_one_before() -> None:
    deployment = deploy(config(*THREE, waves=[[ONE, TWO], [OTHER]]))

    assert {check_of(deployment, region).urn for region in (ONE, TWO)} <= mint(deployment, OTHER).dependencies


def test_tables_logs_and_roles_wait_for_no_check(signed: Deployment) -> None:
    checks = {check.urn for check in signed.checks()}

    for kind in (TABLE, LOG_GROUP, ROLE, FUNCTION_URL):
        assert [resource.name for resource in signed.of(kind) if checks & resource.dependencies] == []


def test_after_a_bad_check_no_other_region_is_changed_and_nothing_is_settled() -> None:
    error, deployment = deploy_badly(config(*THREE), failing="integers-coordinator-check-us-east-1")

    assert "check-us-east-1 can't be made" in str(error)
    assert [f.inputs["region"] for f in deployment.of(FUNCTION) if f.inputs["name"] == f"{PREFIX}-mint"] == [ONE]
    assert deployment.settlings() == []


def test_after_the_last_wave_the_layout_is_settled_whatever_its_check_says() -> None:
    """A region that is down has its place in the last wave: all others must get their layouts."""
    error, deployment = deploy_badly(config(*THREE), failing="integers-coordinator-check-eu-west-1")

    assert "check-eu-west-1 can't be made" in str(error)
    assert len(deployment.settlings()) == 1


def test_a_check_is_a_new_invocation_at_home_that_leaves_nothing_in_the_state_if_it_fails(signed: Deployment) -> None:
    for check in signed.checks():
        assert (check.inputs["region"], check.inputs["functionName"]) == (HOME, f"{PREFIX}-coordinate")
        assert check.inputs["lifecycleScope"] == "CREATE_ONLY"
        assert checked(check)["counter"] == "integers"


@pytest.mark.parametrize(
    "given", [{"memorySize": 512}, {"lease": 100}, {"openCounters": True}, {"idempotencyHours": 1}, {"counters": ["a"]}]
)
def test_a_function_that_changes_is_checked_again(signed: Deployment, given: dict[str, Any]) -> None:
    changed = deploy(config(*THREE, **given))

    for check, again in zip(signed.checks(), changed.checks(), strict=True):
        assert checked(check)["digest"] != checked(again)["digest"]


@pytest.mark.parametrize(
    "given", [{}, {"logRetentionDays": 30}, {"window": 1000}, {"waves": []}, {"leaving": ["us-west-2"]}]
)
def test_what_changes_no_function_checks_nothing(signed: Deployment, given: dict[str, Any]) -> None:
    changed = deploy(config(*reversed(THREE), "sa-east-1", **given))

    for region in THREE:
        assert check_of(changed, region).inputs["input"] == check_of(signed, region).inputs["input"]
        assert check_of(changed, region).urn == check_of(signed, region).urn


def test_a_preview_knows_whether_a_check_runs(signed: Deployment) -> None:
    preview = deploy(config(*THREE), aws=Aws(preview=True, standing=True))

    for region in THREE:
        assert check_of(preview, region).inputs["input"] == check_of(signed, region).inputs["input"]


def test_the_counter_of_the_check_is_asked_for_and_can_be_no_setting(signed: Deployment) -> None:
    assert json.loads(signed.settle().inputs["input"])["wish"]["counters"] == ["integers", "-check"]
    for name, value in {"counters": ["-check"], "floors": {"-check": 5}}.items():
        with pytest.raises(SettingsError, match="'-check' is not a counter's name"):
            deploy(config(*THREE, home=HOME, **{name: value}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("us-east-1", "waves: 'us-east-1' is not a list of lists of regions: "),
        (["us-east-1"], "waves: ['us-east-1'] is not a list of lists of regions: "),
        ([["us-east-1", 1]], "waves: [['us-east-1', 1]] is not a list of lists of regions: "),
        ([["us-east-1"], []], "waves: [['us-east-1'], []] has no region in wave 2; name one, or remove the wave"),
        ([["eu-wset-1"]], "waves: 'eu-wset-1' is neither in regions nor in leaving; did you mean 'eu-west-1'?"),
        ([["us-east-1"], ["us-east-1"]], "waves: 'us-east-1' is listed 2 times; each may be listed once"),
        ([["first", "us-east-1"]], "waves: 'us-east-1' is listed 2 times; each may be listed once"),
        ([["rest"], ["rest"]], "waves: 'rest' is listed 2 times; each may be listed once"),
    ],
)
def test_wrong_waves_are_refused(given: object, expected: str) -> None:
    with pytest.raises(SettingsError) as error:
        deploy(config(*THREE, waves=given))

    assert len(str(error.value).splitlines()) == 2
    assert expected in str(error.value)
