"""When a health check changes its status."""

from collections.abc import Sequence
from threading import Event

import pytest

from local.domain import server
from local.domain.server import HealthChecker
from local.domain.zone import HealthCheck

CHECK = HealthCheck("1", "eu-west-1.integers.example.com", "/-/health", threshold=2)


def statuses(results: str) -> str:
    """The status after each result: `+` is healthy, `-` is not."""
    checked = HealthChecker(lambda _: True)
    shown = ""
    for result in results:
        checked.count(CHECK, healthy=result == "+")
        shown += "+" if checked.healthy(CHECK.id) else "-"
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


def test_all_checks_are_asked_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "INTERVAL", 0.001)
    stop, asked = Event(), list[str]()
    other = HealthCheck("2", "us-east-1.integers.example.com", "/-/health", threshold=2)

    def ask(check: HealthCheck) -> bool:
        asked.append(check.id)
        return check != CHECK

    checked = HealthChecker(ask)

    def checks() -> Sequence[HealthCheck]:
        if len(asked) >= 4:
            stop.set()
        return [CHECK, other]

    checked.run(checks, stop)

    assert (checked.healthy(CHECK.id), checked.healthy(other.id)) == (False, True)
    assert asked.count("1") == asked.count("2") == len(asked) / 2
