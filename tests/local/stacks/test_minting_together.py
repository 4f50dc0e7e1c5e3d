"""Many clients at all URLs at once: what the system is for."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.aws_clients import Aws
from tests.local.machine import Machine, mint

CLIENTS = 8


def many(urls: list[str], first: int, each: int) -> tuple[list[int], int]:
    """Return one client's integers, from the URLs in turn, and how often it had to ask again.

    A mint that takes longer than 2 s, on a busy machine, is answered with a 503. It may have been written.
    """
    integers: list[int] = []
    repeated = 0
    while len(integers) < each:
        status, document = mint(urls[(first + len(integers)) % len(urls)])
        assert status in {200, 503}, document
        if status == 200:
            integers.append(document["integer"])
        else:
            repeated += 1
            assert repeated < 100, document
    return integers, repeated


def test_none_is_minted_twice_and_none_skipped(deployed: Machine) -> None:
    each = 42  # a multiple of 3: every client goes round the URLs
    outputs = deployed.outputs()
    urls = list(outputs["urls"].values())
    before = [many([url], 0, 1) for url in urls]

    with ThreadPoolExecutor(CLIENTS) as pool:
        runs = [pool.submit(many, urls, client, each) for client in range(CLIENTS)]
        results = [run.result() for run in runs]

    integers = [integer for minted, _ in results for integer in minted]
    assert len(set(integers)) == len(integers) == CLIENTS * each
    skipped = 0
    for place, ([last], _) in zip(outputs["layout"].values(), before, strict=True):
        own = [n for n in integers if n % place["stride"] == place["offset"] % place["stride"]]
        assert len(own) == len(integers) // 3
        assert min(own) > last
        skipped += (max(own) - last) // 3 - len(own)
    assert skipped <= sum(repeated for _, repeated in before + results)


def test_a_role_without_its_action_cant_mint(deployed: Machine) -> None:
    iam = Aws(deployed.endpoint).client("iam", "us-east-1")
    role = "global-integers-dev-mint-eu-west-1"
    policy: Any = iam.get_role_policy(RoleName=role, PolicyName="own")["PolicyDocument"]
    own = policy if isinstance(policy, str) else json.dumps(policy)

    def allow(document: str) -> None:
        for name in ("next", "own"):
            iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)

    allow(own.replace("UpdateItem", "GetItem"))
    status, _ = mint(deployed.outputs()["urls"]["eu-west-1"])
    allow(own)
    assert status == 503
    assert mint(deployed.outputs()["urls"]["eu-west-1"])[0] == 200
