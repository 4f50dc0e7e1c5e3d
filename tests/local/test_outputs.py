"""One output of a deployment, and how outputs are printed."""

from typing import Any

import pytest

from local.command_line import as_text, select
from local.paths import LocalError

OUTPUTS: dict[str, Any] = {
    "regions": ["us-east-1"],
    "layout": {"us-east-1": {"offset": 1, "stride": 1}},
    "urls": {"us-east-1": "http://127.0.0.1:4566/"},
    "gatewayUrls": {},
    "coordinator": "the-coordinator",
}


def test_a_value_is_selected_by_its_path() -> None:
    assert select(OUTPUTS, "regions") == ["us-east-1"]
    assert select(OUTPUTS, "layout.us-east-1.offset") == 1


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("nonesuch", "there is regions, layout, urls, gatewayUrls, coordinator"),
        ("urls.nonesuch", "there is us-east-1"),
        ("gatewayUrls.us-east-1", "there is nothing below"),
        ("coordinator.length", "there is nothing below"),
        ("regions.0", "there is nothing below"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_what_there_is(path: str, known: str) -> None:
    with pytest.raises(LocalError, match=f"outputs {path}: .*{known}"):
        select(OUTPUTS, path)


def test_all_are_printed_one_below_the_other() -> None:
    assert as_text(OUTPUTS).splitlines() == [
        'regions: ["us-east-1"]',
        "layout:",
        '  us-east-1: {"offset": 1, "stride": 1}',
        "urls:",
        "  us-east-1: http://127.0.0.1:4566/",
        "gatewayUrls: {}",
        "coordinator: the-coordinator",
    ]


def test_one_is_printed_as_it_is() -> None:
    assert as_text(OUTPUTS["coordinator"]) == "the-coordinator"
    assert as_text(OUTPUTS["urls"]) == "us-east-1: http://127.0.0.1:4566/"
    assert as_text(1) == "1"
