"""A deployment settles the layout, and gives the URLs out afterwards."""

import pytest

from local.program import FAILED
from tests.components.aws_answers import FUNCTION, FUNCTION_URL, LABEL, PERMISSION, POLICY, ROLE, TABLE
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly

SETTLE = "integers-coordinator-settle"


def test_the_coordinator_runs_once_at_home(signed: Deployment) -> None:
    settle = signed.settle()

    assert settle.inputs["region"] == HOME
    assert (
        settle.inputs["functionName"] == signed.one(FUNCTION, region=HOME, name=f"{PREFIX}-coordinate").inputs["name"]
    )


def test_the_home_region_need_not_mint() -> None:
    deployment = deploy(config("eu-west-1", "eu-north-1", home="us-west-2"))

    assert deployment.settle().inputs["region"] == "us-west-2"
    assert [f.inputs["name"] for f in deployment.of(FUNCTION) if f.inputs["region"] == "us-west-2"] == [
        f"{PREFIX}-coordinate"
    ]


def test_a_change_of_wishes_is_another_invocation_which_leaves_nothing_in_the_state_if_it_fails(
    signed: Deployment,
) -> None:
    assert signed.settle().inputs["lifecycleScope"] == "CREATE_ONLY"


def test_the_coordinator_runs_only_once_everything_that_it_opens_exists_and_its_role_may_write() -> None:
    deployment = deploy(config(*THREE, authorization="NONE", leaving=["us-west-2"], openCounters=True))
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate")
    role = next(r for r in deployment.of(ROLE) if coordinate.inputs["role"].endswith(f"/{r.inputs['name']}"))
    mints = deployment.of(FUNCTION_URL) + deployment.of(FUNCTION)
    public = [p for p in deployment.of(PERMISSION) if p.inputs["principal"] == "*"]
    needed = {r.urn for r in (*mints, *public, *deployment.of(TABLE)) if r.inputs["region"] != "us-west-2"}

    assert len(needed) == 3 + 4 + 6 + 8
    needed.add(deployment.one(POLICY, role=role.inputs["name"]).urn)
    assert needed <= deployment.settle().dependencies


def test_no_region_waits_for_what_another_region_has_but_for_its_check() -> None:
    deployment = deploy(config(*THREE, leaving=["us-west-2"], openCounters=True))
    own = {
        r.urn: next((region for region in (*THREE, "us-west-2") if region in r.name), "home")
        for r in deployment.resources
    }
    checks = deployment.checks()
    regional = [r for r in deployment.resources if own[r.urn] != "home" and r not in checks]
    waves = {deployment.one(FUNCTION, name=f"{PREFIX}-coordinate").urn, checks[0].urn}

    assert len(regional) > 4 * 7
    for resource in regional:
        others = {urn for urn in resource.dependencies if own[urn] != own[resource.urn]}
        assert others <= waves, resource.name
        assert len(others | (waves & resource.dependencies)) == (resource.type in (FUNCTION, POLICY)), resource.name


def test_no_url_is_given_out_where_the_coordinator_fails() -> None:
    error, deployment = deploy_badly(config(*THREE), failing=SETTLE)

    assert "coordinator-settle can't be made" in str(error)
    assert deployment.outputs["urls"] == dict.fromkeys(THREE, FAILED)


@pytest.mark.parametrize("kind", [TABLE, FUNCTION, FUNCTION_URL, PERMISSION])
def test_the_coordinator_is_not_asked_where_something_could_not_be_made(kind: str) -> None:
    _, deployment = deploy_badly(config(*THREE, authorization="NONE"), failing=kind)

    assert deployment.settlings() == []


def test_the_coordinator_knows_its_tables(signed: Deployment) -> None:
    coordinate = signed.one(FUNCTION, name=f"{PREFIX}-coordinate")

    assert coordinate.inputs["environment"]["variables"] == {
        "LAYOUTS_TABLE": f"{PREFIX}-layouts",
        "MIRROR_TABLE": f"{PREFIX}-mirror",
        "COUNTERS_TABLE": f"{PREFIX}-counters",
        "MINT_FUNCTION": f"{PREFIX}-mint",
        "STACK": PREFIX,
    }


def test_the_coordinators_name_is_exported_for_creating_counters_by_hand(signed: Deployment) -> None:
    assert signed.outputs["coordinator"] == f"{PREFIX}-coordinate"


def test_what_is_at_home_stays_where_it_was_created(signed: Deployment) -> None:
    """Another home region is refused, but an update without a preview begins to replace resources before."""
    at_home = [r for r in signed.resources if "-coordinator-" in r.name and "region" in r.inputs]

    assert len(at_home) == 9 + 3
    assert [r.name for r in at_home if "region" not in r.ignore_changes] == []


def test_only_the_coordinators_role_is_never_replaced_and_keeps_what_it_says(signed: Deployment) -> None:
    """Pulumi doesn't apply `ignore_changes` to the inputs of a replacement, so the name has to stay too."""
    kept = {r.name: set(r.ignore_changes) - {"path"} for r in signed.of(ROLE)}

    assert {name: paths for name, paths in kept.items() if paths} == {
        "integers-coordinator-coordinate-role": {"name", "description"}
    }
    assert signed.one(ROLE, name=f"{PREFIX}-coordinate").inputs["description"] == f"{HOME} {LABEL}"
