"""The edges of what may be configured: the last value that is allowed, and the first that is not."""

import pytest

from tests.components.aws_answers import FUNCTION, LOG_GROUP, ROLE
from tests.components.running import HOME, PROJECT, config, deploy, deploy_badly


@pytest.mark.parametrize("size", [128, 10_240])
def test_the_smallest_and_the_largest_memory_are_allowed(size: int) -> None:
    deployment = deploy(config("eu-west-1", memorySize=size))

    assert deployment.one(FUNCTION, region="eu-west-1").inputs["memorySize"] == size


@pytest.mark.parametrize("days", [1, 3653])
def test_the_shortest_and_the_longest_retention_are_allowed(days: int) -> None:
    deployment = deploy(config("eu-west-1", logRetentionDays=days))

    assert deployment.one(LOG_GROUP, region="eu-west-1").inputs["retentionInDays"] == days


@pytest.mark.parametrize("name", ["0", "a" * 63, "a_b-c"])
def test_a_counter_may_be_called(name: str) -> None:
    deployment = deploy(config("eu-west-1", counters=[name]))

    mint = deployment.one(FUNCTION, region="eu-west-1")
    assert mint.inputs["environment"]["variables"]["DEFAULT_COUNTER"] == name


def test_the_longest_stack_name_still_makes_names_that_aws_takes() -> None:
    longest = "s" * (64 - len(f"{PROJECT}--mint-ap-southeast-2"))
    deployment = deploy(config(HOME, "ap-southeast-2"), stack=longest)

    names = [resource.inputs["name"] for kind in (ROLE, FUNCTION) for resource in deployment.of(kind)]
    assert max(map(len, names)) == 64


def test_a_longer_stack_name_is_refused_with_the_length_that_is_possible() -> None:
    room = 64 - len("-mint-ap-southeast-2")
    longest = "s" * (room - len(f"{PROJECT}-"))
    error, deployment = deploy_badly(config(HOME, "ap-southeast-2"), stack=longest + "s")

    assert deployment.resources == []
    assert f"<project>-<stack>: '{PROJECT}-{longest}s' has {room + 1} characters" in str(error)
    assert f"at most {room} are possible" in str(error)
