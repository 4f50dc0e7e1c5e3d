"""The runbook quotes the program's and the coordinator's messages."""

from collections.abc import Mapping
from typing import Any

import pytest
from coordinate.protocol.refusals import lost_layouts, stray

from components.coordinator.deployment import (
    StoredRecord,
    _check_that_regions_leave,  # pyright: ignore[reportPrivateUsage]
    changes,
)
from components.settings import SettingsError
from local.paths import ROOT

PAGE = (ROOT / "docs" / "runbook.md").read_text()
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def desired(*regions: str) -> dict[str, Any]:
    numbers = {"window": 100_000_000, "headroom": 10_000, "scheduleMinutes": 5}
    tables = dict.fromkeys(regions, "label")
    return {
        "regions": list(regions),
        "leaving": [],
        "counters": ["integers"],
        "floors": {},
        "tableLabels": tables,
    } | numbers


def record(asked_for: Mapping[str, Any]) -> StoredRecord:
    return StoredRecord(
        "8f14e45f/0", 1, "", 0, asked_for, reconciled=True, counters={"integers": {"epoch": 1, "base": 1}}
    )


@pytest.mark.parametrize(
    "refusal",
    [lost_layouts("<id>"), stray("integers", "the layouts table")],
    ids=["two losses", "a stray item"],
)
def test_the_coordinators_refusals_are_quoted(refusal: Exception) -> None:
    assert f"```text\n{refusal}\n```" in PAGE


def test_the_refusal_to_drop_a_region_is_quoted() -> None:
    with pytest.raises(SettingsError) as refused:
        _check_that_regions_leave(desired(*THREE), record(desired(*THREE, "us-west-2")))

    assert f"```text\n{refused.value}\n```" in PAGE


def test_what_a_preview_says_is_quoted() -> None:
    assert changes(desired(*THREE, "us-west-2"), record(desired(*THREE))) in PAGE.splitlines()
