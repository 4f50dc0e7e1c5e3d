"""Many clients at all URLs at once: what the system is for."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.resources import Aws
from tests.local.machine import Machine, mint

CLIENTS = 8


def many(urls: list[str], first: int, each: int) -> list[int]:
    """One client's integers, from the URLs in turn."""
    return [mint(urls[(first + n) % len(urls)])[1]["integer"] for n in range(each)]


@pytest.mark.parametrize("each", [42, pytest.param(384, marks=pytest.mark.long)])
def test_none_is_minted_twice_and_none_skipped(deployed: Machine, each: int) -> None:
    """`each` is a multiple of 3, so that every client goes round the URLs."""
    outputs = deployed.outputs()
    urls = list(outputs["urls"].values())
    before = [mint(url)[1]["integer"] for url in urls]

    with ThreadPoolExecutor(CLIENTS) as pool:
        runs = [pool.submit(many, urls, client, each) for client in range(CLIENTS)]
        integers = [integer for run in runs for integer in run.result()]

    assert len(set(integers)) == len(integers) == CLIENTS * each
    for place, last in zip(outputs["layout"].values(), before, strict=True):
        own = sorted(n for n in integers if n % place["stride"] == place["offset"] % place["stride"])
        assert own == list(range(last + 3, last + 3 + len(own) * 3, 3))
        assert len(own) == len(integers) // 3


def test_a_role_without_its_action_cant_mint(deployed: Machine) -> None:
    iam = Aws(deployed.endpoint).client("iam", "us-east-1")
    role = "global-integers-dev-mint-eu-west-1"
    policy: Any = iam.get_role_policy(RoleName=role, PolicyName="own")["PolicyDocument"]
    own = policy if isinstance(policy, str) else json.dumps(policy)
    iam.put_role_policy(RoleName=role, PolicyName="own", PolicyDocument=own.replace("UpdateItem", "GetItem"))

    status, _ = mint(deployed.outputs()["urls"]["eu-west-1"])

    iam.put_role_policy(RoleName=role, PolicyName="own", PolicyDocument=own)
    assert status == 503
    assert mint(deployed.outputs()["urls"]["eu-west-1"])[0] == 200
