"""Another home region: which one was it until now, what is made beside it, and what stays for one more deployment."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from local.engine.program import Registration, run_program
from local.paths import ROOT
from tests.components.aws_answers import POLICY, ROLE, STASH, TABLE, TABLE_POLICY
from tests.components.recording import Aws, Deployment, recorded
from tests.components.running import HOME, PREFIX, PROJECT, STACK, THREE, config, deploy, deploy_badly

NEW = "eu-west-1"
THIRD = "us-west-2"

Items = dict[tuple[str, str, str], Mapping[str, Any] | str]


def record(home: str, *, term: int = 1, number: int = 4) -> dict[str, Any]:
    asked = json.loads(deploy(config(*THREE, home=home)).reconcile().inputs["input"])["desired"]
    return recorded({**asked, "window": 1}, token=f"token of {home}", number=number, term=term)


def home(region: str, term: int, *others: str) -> dict[str, Any]:
    """Return what a region has on record, or a claim."""
    named = {"others": {"L": [{"S": other} for other in others]}}
    return {"home": {"S": region}, "term": {"N": str(term)}, **named}


STANDS: Items = {(HOME, "layouts", "/admitted"): {"token": {"S": "t"}}, (HOME, "layouts", "/deployment"): record(HOME)}
KNOWN: Items = {(each, "receipts", "/home"): home(HOME, 1) for each in THREE}


def moved(items: Items, to: str = NEW, **settings: Any) -> tuple[Deployment, Aws]:
    aws = Aws(items=items)
    return deploy(config(*THREE, home=to, **settings), aws=aws), aws


def follows(deployment: Deployment) -> str:
    return json.loads(deployment.reconcile().inputs["input"])["follows"]


def test_where_the_home_is_still_the_home_no_region_is_asked() -> None:
    _, aws = moved({**STANDS, **KNOWN}, to=HOME)

    assert {call["region"] for call in aws.calls} == {HOME}


STARTED: Items = {**STANDS, **KNOWN, (HOME, "layouts", "/admitted"): home(NEW, 2)}
ADMITTED: Items = {**STARTED, (NEW, "layouts", "/deployment"): record(NEW, term=2, number=5)}
CLAIM = home(NEW, 2, HOME, NEW)
BOTH: Items = {(HOME, "layouts", "/admitted"): CLAIM, (NEW, "layouts", "/admitted"): CLAIM}
LATER: Items = {
    (NEW, "layouts", "/admitted"): home(HOME, 3),
    (NEW, "layouts", "/deployment"): record(NEW, term=2, number=7),
    (HOME, "layouts", "/deployment"): record(HOME, term=3, number=9),
    **{(each, "receipts", "/home"): home(HOME, 3) for each in THREE},
}

CASES: dict[str, tuple[Items, str, str]] = {
    "it is on record in the regions": ({**STANDS, **KNOWN}, NEW, HOME),
    "one region has it on record": ({**STANDS, (THREE[2], "receipts", "/home"): home(HOME, 1)}, NEW, HOME),
    "only the mirror has its record": ({**KNOWN, (HOME, "mirror", "/deployment"): record(HOME)}, NEW, HOME),
    "a move was given up before it led to anything": (STARTED, HOME, ""),
    "a move was given up after it was admitted": (ADMITTED, HOME, NEW),
    "a move was killed, and now there is a third home": (ADMITTED, THIRD, NEW),
    "a move was killed when it had claimed both, and is repeated": ({**STANDS, **KNOWN, **BOTH}, NEW, HOME),
    "and no region has the home on record": ({**STANDS, (NEW, "layouts", "/admitted"): CLAIM}, NEW, HOME),
    "the new home has an older record of its own": (LATER, NEW, HOME),
    "the former home is lost": (KNOWN, NEW, ""),
    "nothing is deployed": ({}, NEW, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_the_deployment_follows_the_record_of_the_former_home(name: str) -> None:
    items, to, former = CASES[name]
    deployment, _ = moved(items, to)

    own = f"token of {to}" if (to, "layouts", "/deployment") in items else ""
    assert follows(deployment) == (f"token of {former}" if former else own)


def test_everything_of_the_new_home_is_made_beside_the_former_one() -> None:
    """And only the witness stays."""
    before, after = deploy(config(*THREE, protect=False)), moved({**STANDS, **KNOWN}, protect=False)[0]

    of_the_home = [
        {f"{each.type} {each.name}" for each in one.resources if "-coordinator-" in each.name}
        for one in (before, after)
    ]
    assert of_the_home[0] & of_the_home[1] == {f"{STASH} integers-coordinator-first-layouts"}
    assert len(of_the_home[0]) > 20
    assert {each.replace(f"coordinator-{HOME}", f"coordinator-{NEW}") for each in of_the_home[0]} <= of_the_home[1]
    assert before.one(STASH).urn == after.one(STASH).urn
    assert after.one(ROLE, name=f"{PREFIX}-coordinate-{NEW}")


def test_what_the_former_home_has_is_deleted_by_the_next_deployment_if_it_was_protected() -> None:
    deployment, _ = moved({**STANDS, **KNOWN})

    left = {each.name: each for each in deployment.of(TABLE) if each.inputs["region"] == HOME and "coord" in each.name}
    assert left.keys() == {f"integers-coordinator-{HOME}-{each}" for each in ("layouts", "mirror")}
    assert not any(each.protect or each.inputs["deletionProtectionEnabled"] for each in left.values())
    before = {each.urn for each in deploy(config(*THREE)).of(TABLE)}
    assert {each.urn for each in left.values()} <= before, "they are the same resources"
    assert [each.protect for each in deployment.of(TABLE) if f"-{NEW}-layouts" in each.name] == [False]
    assert deployment.one(STASH).protect
    again, _ = moved({(NEW, "layouts", "/admitted"): {"token": {"S": "t"}}})
    assert not [each for each in again.of(TABLE) if each.name in left]
    assert [each.protect for each in again.of(TABLE) if f"-{NEW}-layouts" in each.name] == [True]


def test_a_home_that_was_claimed_is_taken_back_though_nothing_else_has_changed() -> None:
    """Pulumi's state has the event of the last deployment: the same one would ask nobody."""
    before = deploy(config(*THREE)).reconcile().inputs["input"]
    item = {**record(HOME), "desired": {"S": json.dumps(json.loads(before)["desired"])}}
    there: Items = {**KNOWN, (HOME, "layouts", "/deployment"): item}
    plain: Items = {**there, (HOME, "layouts", "/admitted"): {"token": {"S": "t"}}}
    claimed: Items = {**there, (HOME, "layouts", "/admitted"): home(NEW, 2, HOME, NEW)}

    (same, _), (asked, _) = moved(plain, to=HOME), moved(claimed, to=HOME)
    assert json.loads(same.reconcile().inputs["input"])["requested"] == 1_794_000_000
    assert json.loads(asked.reconcile().inputs["input"])["requested"] > 1_794_000_000
    assert follows(asked) == f"token of {HOME}"
    assert [each.protect for each in asked.of(TABLE)] == [each.protect for each in same.of(TABLE)]


def test_any_coordinator_of_the_stack_writes_at_home_and_only_the_new_one_in_regions() -> None:
    """Each move claims every former home, also one that the program doesn't know."""
    deployment, _ = moved({**STANDS, **KNOWN})
    role = deployment.one(ROLE, name=f"{PREFIX}-coordinate-{NEW}")

    policies = {each.name: each for each in deployment.of(TABLE_POLICY)}
    assert len(policies) == 2 * len(THREE) + 2
    for name, each in policies.items():
        at_home = "-coordinator-" in name
        assert (f"-coordinate-{NEW}" in each.inputs["policy"]) == (not at_home)
        assert ('-coordinate-*"' in each.inputs["policy"]) == at_home
        assert f"-coordinate-{HOME}" not in each.inputs["policy"]
        assert role.urn in each.dependencies
    waits = {each.urn for name, each in policies.items() if "-coordinator-" not in name}
    assert waits <= deployment.reconcile().dependencies


def test_what_is_left_is_not_touched_where_it_cant_be_read() -> None:
    deployment, _ = moved(KNOWN)

    assert not [each for each in deployment.of(TABLE) if f"coordinator-{HOME}" in each.name]


LEFT = f" (run it twice: the next deployment protects it, and deletes what {HOME} has left)"


@pytest.mark.parametrize(("protect", "left"), [(False, ""), (True, LEFT)])
def test_the_preview_says_where_the_home_goes(*, protect: bool, left: str) -> None:
    aws = Aws(items={**STANDS, **KNOWN}, preview=True, standing=True, lost=[f"{NEW}-layouts", f"{NEW}-mirror"])
    asked = config(HOME, NEW, home=NEW, protect=protect, leaving=[THREE[2]])

    (first, *_) = run_program(aws, project=PROJECT, stack=STACK, config=asked, preview=True).messages
    move, *rest = first.split("; ")
    assert move == f"home: {HOME} → {NEW}{left}"
    assert f"leaving: {THREE[2]}" in rest


def test_what_may_not_be_read_is_named() -> None:
    """Else the deployment would follow no record, and be refused as an outdated one."""
    denied = "operation error DynamoDB: GetItem, AccessDeniedException"
    items: Items = {**STANDS, (THREE[1], "receipts", "/home"): denied}

    error, refused = deploy_badly(config(*THREE, home=NEW), aws=Aws(items=items))
    assert str(error).startswith(f"{PREFIX}-receipts in {THREE[1]} can't be read (docs/permissions.md): ")
    assert [each for each in refused.resources if each.custom] == []


def test_the_home_moves_only_once_both_of_its_tables_are_there() -> None:
    gone: Items = {(HOME, "layouts", "/deployment"): "couldn't find resource"}
    items: Items = {**KNOWN, **gone, (HOME, "mirror", "/deployment"): record(HOME)}

    error, refused = deploy_badly(config(*THREE, home=NEW), aws=Aws(items=items))
    assert str(error).startswith(f"{PREFIX}-layouts in {HOME} is gone. Before the home region moves to {NEW}, deploy")
    assert str(error).endswith(f"`pulumi up --refresh -c aws:region={HOME}`")
    assert [each for each in refused.resources if each.custom] == []


def test_the_deployers_policy_allows_what_is_read() -> None:
    policy = json.loads((ROOT / "docs" / "deployer-policy.json").read_text())
    allowed = [each["Resource"] for each in policy["Statement"] if each["Action"] == "dynamodb:GetItem"]

    aws = Aws(items={**KNOWN, (HOME, "mirror", "/deployment"): record(HOME)}, preview=True, standing=True)
    deploy(config(*THREE, home=NEW, floors={"*": 8}), aws=aws)
    assert {call["tableName"].rpartition("-")[2] for call in aws.calls} == {
        name.rpartition("-")[2] for names in allowed for name in names
    }


def test_the_former_homes_key_is_needed_until_it_has_left() -> None:
    keys = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE}
    rest = [region for region in THREE if region != HOME]
    without = {region: key for region, key in keys.items() if region != HOME}

    error, refused = deploy_badly(config(*rest, home=NEW, kmsKeys=without), aws=Aws(items={**STANDS, **KNOWN}))
    assert str(error).startswith(f"kmsKeys: {HOME} has no key here, which was the home region until now")
    assert [each for each in refused.resources if each.custom] == []
    deployment = deploy(config(*rest, home=NEW, protect=False, kmsKeys=keys), aws=Aws(items={**STANDS, **KNOWN}))
    assert keys[HOME] in json.dumps([each.inputs for each in deployment.of(POLICY)])


ZONE = {"domain": "integers.example.com", "hostedZone": "example.com"}
NOTIFIED = {"alarmEmails": ["operator@shop.example"], "budget": 10}
EVERYTHING: dict[str, Any] = {"apiGateway": True, "dashboard": True, "openCounters": True, **ZONE, **NOTIFIED}


def dependents(state: Mapping[str, Registration], names: Iterable[str]) -> set[str]:
    """Return what `pulumi state delete --target-dependents` takes: these, their children, and what depends on them."""
    taken = {urn for urn in state if urn.rpartition("::")[2] in names}
    assert len(taken) == len({*names})
    while more := {
        urn for urn, each in state.items() if urn not in taken and (each.parent in taken or each.dependencies & taken)
    }:
        taken |= more
    return taken


OF_A_REGION = ("{}", "{}-gateway", "domain-{}", "domain-{}-certificate")


@pytest.mark.slow
@pytest.mark.parametrize("minting", [False, True])
def test_a_lost_home_is_taken_out_of_the_state_and_nothing_else(*, minting: bool) -> None:
    """As the runbook says: after a deployment to the new home, which has made and changed everything else."""
    regions = [region for region in THREE if region != HOME]
    before = deploy(config(*([HOME] if minting else []), *regions, **EVERYTHING))
    after = deploy(config(*regions, home=NEW, **EVERYTHING), aws=Aws(items=KNOWN))
    state = {each.urn: each for each in (*before.resources, *after.resources)}

    names = [f"integers-coordinator-{HOME}", f"integers-monitoring-{HOME}"]
    of_the_region = [f"integers-{each.format(HOME)}" for each in OF_A_REGION]
    taken = dependents(state, [*names, *(of_the_region if minting else [])])

    for urn in taken:
        assert HOME in urn.rpartition("::")[2], urn
    for urn in state.keys() - taken:
        region = state[urn].inputs.get("region")
        assert region != HOME, urn
    roles = [each for each in state.values() if each.type == ROLE and each.inputs["name"].endswith(HOME)]
    assert len(roles) == (3 if minting else 1)
    assert not {each.urn for each in roles} & taken, "the next deployment deletes them: they are in no region"
    assert all(each.inputs["forceDetachPolicies"] for each in roles), "also with policies that aren't known any more"
