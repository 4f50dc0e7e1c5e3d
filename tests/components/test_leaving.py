"""Regions that leave: outside of the layout, still there to say where to go, and ready to be deleted."""

import json
from typing import Any

import pytest

from tests.components.aws_answers import ALARM, FUNCTION, FUNCTION_URL, PERMISSION, REST_API, TABLE, url
from tests.components.recording import Aws, Deployment
from tests.components.running import PREFIX, THREE, config, deploy, deploy_badly

GONE = "us-west-2"
FOUR = (*THREE, GONE)


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return deploy(config(*THREE, leaving=[GONE], authorization="NONE", apiGateway=True))


def wish(deployment: Deployment) -> dict[str, Any]:
    return json.loads(deployment.settle().inputs["input"])["wish"]


def test_the_coordinator_is_told_who_leaves(deployment: Deployment) -> None:
    assert (wish(deployment)["regions"], wish(deployment)["leaving"]) == (list(THREE), [GONE])


def test_a_region_that_leaves_is_not_waited_for_since_it_may_never_come_back(deployment: Deployment) -> None:
    leaving = {r.urn for r in deployment.resources if GONE in r.name}

    assert len(leaving) > 7
    assert not leaving & deployment.settle().dependencies
    assert set(wish(deployment)["tables"]) == set(THREE)


def test_its_function_knows_where_to_go_and_no_other_one_does(deployment: Deployment) -> None:
    told = {
        f.inputs["region"]: f.inputs["environment"]["variables"].get("LEAVING")
        for f in deployment.of(FUNCTION)
        if f.inputs["name"] == f"{PREFIX}-mint"
    }

    assert told == {**dict.fromkeys(THREE), GONE: ",".join(THREE)}


def test_it_keeps_all_that_it_had(deployment: Deployment) -> None:
    before = deploy(config(*FOUR, authorization="NONE", apiGateway=True))

    alarms = {r.urn for r in before.of(ALARM) if r.inputs["region"] == GONE}
    assert len(alarms) == 4
    check = {r.urn for r in before.checks() if r.name.endswith(GONE)}
    assert len(check) == 1
    assert sorted(r.urn for r in deployment.resources) == sorted({r.urn for r in before.resources} - alarms - check)
    for kind in (TABLE, FUNCTION_URL, PERMISSION, REST_API):
        assert [r.inputs["region"] for r in deployment.of(kind)].count(GONE) == len(
            [r for r in before.of(kind) if r.inputs["region"] == GONE]
        )


def test_only_its_tables_lose_their_protection() -> None:
    tables = deploy(config(*THREE, leaving=[GONE])).of(TABLE)

    assert {t.inputs["region"] for t in tables if t.protect} == set(THREE)
    assert {t.inputs["region"] for t in tables if not t.protect} == {GONE}
    assert all(t.protect == t.inputs["deletionProtectionEnabled"] for t in tables)


def test_the_outputs_are_the_layouts_regions_and_beside_them_those_that_leave(deployment: Deployment) -> None:
    outputs = deployment.outputs

    assert outputs["regions"] == list(THREE)
    assert set(outputs["layout"]) == set(outputs["urls"]) == set(outputs["gatewayUrls"]) == set(THREE)
    assert {place["stride"] for place in outputs["layout"].values()} == {3}
    assert outputs["leaving"] == {GONE: url(GONE)}


def test_nothing_leaves_by_default(signed: Deployment) -> None:
    assert signed.outputs["leaving"] == {}


def record(*regions: str, leaving: tuple[str, ...] = ()) -> dict[str, Any]:
    """The record of a deployment with these regions."""
    asked = wish(deploy(config(*regions, leaving=list(leaving))))
    return {
        "counter": {"S": "/deployment"},
        "home": {"S": "id"},
        **{key: {"N": "1"} for key in ("number", "follows", "asked")},
        "wish": {"S": json.dumps(asked)},
        "settled": {"BOOL": True},
        "report": {"S": "{}"},
    }


@pytest.mark.parametrize("preview", [True, False])
def test_a_protected_region_that_is_dropped_is_refused_with_the_lines_to_type(preview: bool) -> None:
    aws = Aws(preview=preview, standing=True, record=record(*FOUR, leaving=("eu-north-1",)))
    error, deployment = deploy_badly(config(*THREE, leaving=["eu-north-1"]), aws=aws)

    text = str(error)
    assert text.startswith("regions: us-west-2: tables are protected here, so a region can't be removed before it has")
    assert '  leaving: ["eu-north-1", "us-west-2"]\n' in text
    assert '  regions: ["us-east-1", "eu-west-1", "ap-southeast-2"]\n' in text
    assert text.endswith("Then remove us-west-2 from leaving and deploy again.")
    assert deployment.settlings() == []


@pytest.mark.parametrize(
    ("before", "given"),
    [
        (record(*THREE, leaving=(GONE,)), {}),
        (record(*FOUR), {"leaving": [GONE]}),
        (record(*FOUR), {"protect": False}),
        (None, {}),
    ],
    ids=["it has left", "it leaves", "unprotected", "nothing is known"],
)
def test_otherwise_it_is_not_refused(before: dict[str, Any] | None, given: dict[str, Any]) -> None:
    assert deploy(config(*THREE, **given), aws=Aws(record=before)).outputs["regions"] == list(THREE)
