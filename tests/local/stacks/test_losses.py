"""What is lost with the coordinator's role, or can't be reached, end to end: nothing begins at 1 again."""

from collections.abc import Generator
from random import Random

import pytest

from global_integers_core.names import LOSS_ID
from proof.chaos.history import History
from proof.chaos.proxy import unreachable
from proof.chaos.stack import HOME, NAMES, REGIONS, RunFailed, Stack, running_stack
from tests.local.machine import mint

pytestmark = pytest.mark.long

THREE = REGIONS[:3]
ABOVE = 2**52 + 50_000
"""Above every floor, so that also a mistyped one can be answered."""


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """A stack on a server of its own, which can be cut off from DynamoDB, with protection off."""
    monkeypatch.delenv("GLOBAL_INTEGERS_LOCAL", raising=False)
    settings = {"counters": ["integers"], "apiGateway": False, "protect": False}
    with running_stack(Random(0), (), History(), print) as started:
        started.desired |= settings
        yield started


def lose_tables(stack: Stack, *regions: str) -> None:
    for region in regions:
        for table in stack.aws.client("dynamodb", region).list_tables()["TableNames"]:
            stack.lose(region, table)


def lose_roles(stack: Stack) -> None:
    """Delete all roles, as a clean-up of the account does."""
    iam = stack.aws.client("iam", HOME)
    for role in iam.list_roles()["Roles"]:
        name = role["RoleName"]
        if name.startswith(NAMES.prefix):
            for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
                iam.delete_role_policy(RoleName=name, PolicyName=policy)
            iam.delete_role(RoleName=name)


def answer(stack: Stack) -> None:
    """Answer the loss that a deployment is refused for."""
    with pytest.raises(RunFailed, match="Neither the layouts table") as refused:
        stack.deploy_once(stack.desired)
    (loss,) = {*LOSS_ID.findall(str(refused.value))}
    stack.deploy(recovery={"loss": loss, "above": ABOVE})
    stack.deploy()  # left in the settings, it answers nothing more, and harms nothing


def minted(stack: Stack, each: int = 3) -> list[int]:
    """Mint in all regions."""
    answers = [mint(url) for _, kind, url in stack.entries if kind == "function" for _ in range(each)]
    assert {status for status, _ in answers} == {200}
    return [document["integer"] for _, document in answers]


def statuses(stack: Stack) -> set[int]:
    return {mint(url)[0] for _, _, url in stack.entries}


def test_two_of_three_regions_do_not_answer_then(stack: Stack) -> None:
    stack.deploy(regions=THREE)
    before = minted(stack)
    lose_tables(stack, HOME)
    lose_roles(stack)
    nothing_answers = (fault for region in THREE[1:] for fault in unreachable(region, silent=False))

    with stack.proxy.failing(*nothing_answers):
        with pytest.raises(RunFailed, match="eu-west-1, ap-southeast-2 must answer"):
            stack.deploy_once(stack.desired)
        assert 200 not in statuses(stack)

    answer(stack)
    after = minted(stack)
    assert sorted(before) == list(range(1, 10))
    assert min(after) > ABOVE
    assert len({*before, *after}) == 18


def test_functions_that_remember_go_on_after_a_loss_of_everything(stack: Stack) -> None:
    stack.deploy(regions=THREE)
    stack.deploy(regions=THREE[::-1])  # so the functions have seen the second epoch
    before = minted(stack)
    lose_tables(stack, *THREE)

    answer(stack)

    after = minted(stack)
    assert min(after) > ABOVE
    assert len({*before, *after}) == 18
