"""The shop's program under Pulumi's mocks: no AWS, no Pulumi CLI, no network."""

import asyncio
import json
import runpy
from typing import Any

import pulumi
from pulumi_global_integers.testing import Mocks

aws = Mocks()
outputs: dict[str, Any] = {}
asyncio.set_event_loop(asyncio.new_event_loop())  # Pulumi needs one, and from Python 3.14 on there is none
pulumi.runtime.set_mocks(aws, project="shop", stack="test")


@pulumi.runtime.test  # it returns once everything is registered
def deploy() -> pulumi.Output[None]:
    integers = runpy.run_path("__main__.py")["integers"]
    known = pulumi.Output.all(regions=integers.regions, layout=integers.layout, urls=integers.urls)
    return known.apply(outputs.update)


deploy()


def test_integers_are_minted_in_two_regions() -> None:
    assert outputs["regions"] == ["us-east-1", "eu-west-1"]
    assert outputs["layout"]["eu-west-1"] == {"offset": 2, "stride": 2}


def test_checkout_gets_the_urls() -> None:
    checkouts = [each.inputs for each in aws.resources if each.name.startswith("checkout-")]

    assert {checkout["region"] for checkout in checkouts} == set(outputs["urls"])
    for checkout in checkouts:
        assert json.loads(checkout["environment"]["variables"]["GLOBAL_INTEGERS_URLS"]) == outputs["urls"]
