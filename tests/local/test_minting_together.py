"""Many clients at all URLs at once: what the system is for."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from tests.local.machine import Machine, mint

CLIENTS = 8
EACH = 384
"""A multiple of 3: every client goes round the URLs. 8 × 384 = 3,072."""


def many(urls: list[str], first: int) -> list[int]:
    """One client's integers, from the URLs in turn."""
    return [mint(urls[(first + n) % len(urls)])[1]["integer"] for n in range(EACH)]


def test_no_integer_is_minted_twice_and_none_is_skipped_within_a_region(deployed: Machine) -> None:
    outputs = deployed.outputs()
    urls = list(outputs["urls"].values())

    with ProcessPoolExecutor(CLIENTS, mp_context=get_context("spawn")) as pool:
        runs = [pool.submit(many, urls, client) for client in range(CLIENTS)]
        integers = [integer for run in runs for integer in run.result()]

    assert len(integers) >= 3000
    assert len(set(integers)) == len(integers)
    for place in outputs["layout"].values():
        own = sorted(n for n in integers if n % place["stride"] == place["offset"] % place["stride"])
        assert own == list(range(place["offset"], place["offset"] + len(own) * 3, 3))
        assert len(own) == len(integers) // 3


def test_a_role_without_its_action_cant_mint(deployed: Machine) -> None:
    from local.resources import Aws

    iam = Aws(f"http://127.0.0.1:{deployed.port}").client("iam", "us-east-1")
    role = "global-integers-dev-mint-eu-west-1"
    policy: Any = iam.get_role_policy(RoleName=role, PolicyName="own")["PolicyDocument"]
    own = policy if isinstance(policy, str) else json.dumps(policy)
    iam.put_role_policy(RoleName=role, PolicyName="own", PolicyDocument=own.replace("UpdateItem", "GetItem"))

    status, _ = mint(deployed.outputs()["urls"]["eu-west-1"])

    iam.put_role_policy(RoleName=role, PolicyName="own", PolicyDocument=own)
    assert status == 503
    assert mint(deployed.outputs()["urls"]["eu-west-1"])[0] == 200


def test_a_file_missing_in_the_archive_fails(deployed: Machine) -> None:
    import io
    import zipfile

    from local.resources import Aws

    functions = Aws(f"http://127.0.0.1:{deployed.port}").client("lambda", "us-east-1")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("mint/__init__.py", "")
        zipped.writestr("mint/handler.py", "from .route import counter_of\nhandler = counter_of\n")
    functions.update_function_code(FunctionName="global-integers-dev-mint", ZipFile=archive.getvalue())

    status, _ = mint(deployed.outputs()["urls"]["us-east-1"])

    assert status == 502
