"""The runbook quotes the program's and the coordinator's messages."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from coordinate.metrics import OF_ALARMS
from coordinate.protocol.refusals import lost_everything, stray

from components.coordinator.deployment import (
    StoredRecord,
    _check_that_regions_leave,  # pyright: ignore[reportPrivateUsage]
    changes,
)
from components.function import RUNTIME
from components.monitoring.alarms import ALARMS
from components.names import ResourceNames
from components.settings import SettingsError
from local.paths import ROOT
from tests.components.running import config, settings

PAGE = (ROOT / "docs" / "runbook.md").read_text()
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def desired(*regions: str) -> dict[str, Any]:
    numbers = {"window": 1000, "scheduleMinutes": 5}
    tables = dict.fromkeys(regions, "label")
    return {
        "regions": list(regions),
        "leaving": [],
        "counters": ["integers"],
        "defaultCounter": "integers",
        "floors": {},
        "recovery": {},
        "tableLabels": tables,
    } | numbers


def record(asked_for: Mapping[str, Any]) -> StoredRecord:
    return StoredRecord(
        "8f14e45f/0",
        1,
        "",
        0,
        asked_for,
        reconciled=True,
        counters={"integers": {"epoch": 1, "base": 1}},
        term=1,
        windows={},
    )


@pytest.mark.parametrize(
    ("heading", "refusal", "end"),
    [
        ("Two losses at once", lost_everything("<id>", {}), "but there was a deployment:"),
        ("A stray item", stray("integers", "the layouts table"), "can't be read"),
    ],
)
def test_the_coordinators_refusals_are_found(heading: str, refusal: Exception, end: str) -> None:
    begins, found, _ = str(refusal).removeprefix("integers: ").partition(end)

    assert found
    assert f"{begins}{end}" in PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_a_region_is_not_removed_before_it_has_left() -> None:
    with pytest.raises(SettingsError) as refused:
        _check_that_regions_leave(desired(*THREE), record(desired(*THREE, "us-west-2")))

    assert "`a region can't be removed before it has left`" in PAGE
    assert "a region can't be removed before it has left. Set these two and deploy:\n" in str(refused.value)
    assert '  leaving: ["us-west-2"]\n' in str(refused.value)
    assert f"  regions: {json.dumps(THREE)}\n" in str(refused.value)


def test_what_a_preview_says_is_quoted() -> None:
    tasks = (ROOT / "docs" / "tasks.md").read_text()

    assert changes(desired(*THREE, "us-west-2"), record(desired(*THREE))) in tasks.splitlines()


FIRST = PAGE.partition("## First deployment\n")[2].partition("\n## ")[0]


def test_each_command_of_the_first_deployment_says_what_it_prints() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", FIRST, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    looking = [line for line in lines if re.match(r"(aws|global-integers|GLOBAL_INTEGERS_URLS=)", line)]

    assert len(looking) > 15
    assert [line for line in looking if " # " not in line] == []


def test_the_first_deployment_has_the_names_of_its_stack() -> None:
    names = ResourceNames("global-integers-trial")
    every = {name for name in vars(names).values() if name != names.prefix} | {names.alarm(key) for key in ALARMS}
    named = set(re.findall(r"global-integers-trial-[\w-]+", FIRST))

    assert {names.mint_function, names.counters_table, names.gateway_api} <= named <= every


def test_the_first_deployment_expects_what_the_program_makes() -> None:
    assert f"with `{RUNTIME}` or `arm64`" in FIRST
    assert f"# {', '.join(sorted(OF_ALARMS))}\n" in FIRST


def test_the_settings_of_the_first_deployment_are_accepted() -> None:
    found: dict[str, Any] = {}
    regions: list[str] = []
    keys: dict[str, str] = {}
    for line in FIRST.partition("pulumi up ")[0].splitlines():
        if line.startswith("pulumi config set") and " aws:" not in line.partition("arn:")[0]:
            *_, path, value = shlex.split(line)
            match re.split(r"[\[\]\"]+", path):
                case ["regions", _, _]:
                    regions.append(value)
                case ["kmsKeys", region, _]:
                    keys[region] = value
                case [name, *index]:
                    found[name] = [value] if index else value
                case _:
                    raise AssertionError(path)

    accepted = settings(config(*regions, **found, kmsKeys=keys))
    assert (accepted.regions, accepted.window, len(accepted.kms_keys)) == (("us-east-1", "eu-south-1"), 1000, 2)
    assert accepted.hosted_zone
