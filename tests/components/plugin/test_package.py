"""`GlobalIntegers` as Pulumi's engine gets it for programs in other languages."""

import json
import re
from typing import Any

import pulumi
import pytest

from components.plugin.__main__ import PROJECT, REPOSITORY, Package, linked
from tools.generated import TOKEN, schema


def test_every_input_and_output_is_described() -> None:
    component = schema()["resources"][TOKEN]
    described = {**component["inputProperties"], **component["properties"]}

    assert [name for name, each in described.items() if not each.get("description", "").endswith(".")] == []
    assert not [name for name, each in described.items() if re.search("[a-z]_[a-z]", each["description"])]


def test_the_registry_gets_what_it_shows() -> None:
    """And no SDK has a name that a stranger can register."""
    found = json.loads(Package().schema or "")

    assert found["version"] == PROJECT["version"]
    assert not found["language"]["nodejs"]["packageName"].islower()
    assert found["repository"] == REPOSITORY if REPOSITORY else found["repository"].endswith(".invalid")


def test_links_lead_to_the_repository_or_name_the_page() -> None:
    text = 'any ["x", "the [default](operations.md#thresholds)"]'

    assert linked(text, "") == 'any ["x", "the default (docs/operations.md#thresholds)"]'
    assert linked(text, "https://git.example/us/it") == (
        'any ["x", "the [default](https://git.example/us/it/blob/main/docs/operations.md#thresholds)"]'
    )


HOME = {"home": "us-east-1"}
BOTH = {**HOME, "regions": ["us-east-1"]}


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        ({}, 'home: not set; it is the home region, with the layouts table and the coordinator: home: "us-east-1"'),
        ({**HOME, "regions": "us-east-1"}, "regions: 'us-east-1' is not a list of strings: regions: "),
        ({**BOTH, "memory": 1}, "memory: there is no such setting; did you mean 'memorySize'"),
        ({**BOTH, "memorySize": "big"}, "memorySize: 'big' is not an integer"),
        ({**BOTH, "idempotencyHours": 0.5}, "idempotencyHours: 0.5 is not an integer"),
    ],
)
def test_wrong_inputs_get_the_message_of_the_settings(inputs: dict[str, Any], line: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        Package().construct("integers", TOKEN, inputs)

    assert refused.value.message.startswith("the settings are wrong:\n")
    assert f"\n  {line}" in refused.value.message
    assert refused.value.errors == [], "Pulumi reports the message only with a list"
