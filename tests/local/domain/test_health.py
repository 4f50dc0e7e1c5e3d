"""When a health check changes its status."""

import pytest

from local.domain.domain_server import Health
from local.domain.zone import HealthCheck

CHECK = HealthCheck("1", "eu-west-1.integers.example.com", "/-/health", threshold=2)


def statuses(results: str) -> str:
    """The status after each result: `+` is healthy, `-` is not."""
    health = Health()
    shown = ""
    for result in results:
        health.count(CHECK, healthy=result == "+")
        shown += "+" if health.healthy(CHECK.id) else "-"
    return shown


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ("++", "++"),
        ("-+-+", "++++"),
        ("--+", "+--"),
        ("--++", "+--+"),
        ("--+-++", "+----+"),
        ("--++-", "+--++"),
    ],
)
def test_the_threshold_of_results_changes_the_status(results: str, expected: str) -> None:
    assert statuses(results) == expected
