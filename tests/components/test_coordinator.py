"""A deployment settles the layout, and gives the URLs out afterwards."""

import json

from local.program import FAILED
from tests.components.aws_answers import FUNCTION, INVOCATION, LABEL, POLICY, ROLE, TABLE
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly


def test_the_coordinator_runs_once_at_home(signed: Deployment) -> None:
    settle = signed.one(INVOCATION)

    assert settle.inputs["region"] == HOME
    assert (
        settle.inputs["functionName"] == signed.one(FUNCTION, region=HOME, name=f"{PREFIX}-coordinate").inputs["name"]
    )


def test_the_home_region_need_not_mint() -> None:
    deployment = deploy(config("eu-west-1", "eu-north-1", home="us-west-2"))

    assert deployment.one(INVOCATION).inputs["region"] == "us-west-2"
    assert [f.inputs["name"] for f in deployment.of(FUNCTION) if f.inputs["region"] == "us-west-2"] == [
        f"{PREFIX}-coordinate"
    ]


def test_a_change_of_wishes_is_an_update_in_place(signed: Deployment) -> None:
    assert signed.one(INVOCATION).inputs["lifecycleScope"] == "CRUD"


def test_the_coordinator_is_asked_for_the_regions_and_counters_in_order() -> None:
    deployment = deploy(config(*THREE, counters=["orders", "invoices", "a"]))

    assert json.loads(deployment.one(INVOCATION).inputs["input"]) == {
        "regions": list(THREE),
        "counters": ["orders", "invoices", "a"],
        "floors": {},
        "tables": dict.fromkeys(THREE, LABEL),
    }


def test_the_coordinator_is_told_the_floors() -> None:
    deployment = deploy(config(*THREE, floors={"integers": 5_000_000}))

    assert json.loads(deployment.one(INVOCATION).inputs["input"])["floors"] == {"integers": 5_000_000}


def test_the_coordinator_runs_only_once_all_tables_exist_and_its_role_may_write(signed: Deployment) -> None:
    coordinate = signed.one(FUNCTION, name=f"{PREFIX}-coordinate")
    role = next(r for r in signed.of(ROLE) if coordinate.inputs["role"].endswith(f"/{r.inputs['name']}"))
    needed = {
        coordinate.urn,
        signed.one(POLICY, role=role.inputs["name"]).urn,
        *(table.urn for table in signed.of(TABLE) if not table.inputs["name"].endswith("-receipts")),
    }

    assert len(needed) == 2 + 4
    assert needed <= signed.one(INVOCATION).dependencies


def test_no_url_is_given_out_where_the_coordinator_fails() -> None:
    error, deployment = deploy_badly(config(*THREE), failing=INVOCATION)

    assert "coordinator-settle can't be made" in str(error)
    assert deployment.outputs["urls"] == dict.fromkeys(THREE, FAILED)


def test_the_coordinator_is_not_asked_where_a_table_could_not_be_made() -> None:
    _, deployment = deploy_badly(config(*THREE), failing=TABLE)

    assert deployment.of(INVOCATION) == []


def test_the_coordinators_name_is_exported_for_creating_counters_by_hand(signed: Deployment) -> None:
    assert signed.outputs["coordinator"] == f"{PREFIX}-coordinate"
