"""Which record answers: the nearest that is healthy. When a health check changes its status."""

from pathlib import Path

import pytest

from local import domain
from local.domain.domain_server import Health
from local.domain.zone import DnsRecord, answer
from local.paths import LocalError
from local.stack import State

HOST = "integers.example.com"
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
RECORDS = [DnsRecord(HOST, f"d-{region}", region, f"check-{region}") for region in REGIONS]
OWN = DnsRecord(f"eu-west-1.{HOST}", "d-own")


def region_of(host: str, start: str, unhealthy: set[str]) -> str | None:
    """The region that answers while these are unhealthy; None if there is no record."""
    found = answer([*RECORDS, OWN], host, start, lambda check: check.removeprefix("check-") not in unhealthy)
    return found and found.region


@pytest.mark.parametrize(
    ("start", "order"),
    [
        ("us-east-1", ["us-east-1", "eu-west-1", "ap-southeast-2"]),
        ("eu-central-1", ["eu-west-1", "us-east-1", "ap-southeast-2"]),
        ("ap-southeast-1", ["ap-southeast-2", "us-east-1", "eu-west-1"]),
        ("us-west-2", ["us-east-1", "eu-west-1", "ap-southeast-2"]),
    ],
)
def test_the_nearest_healthy_region_answers(start: str, order: list[str]) -> None:
    assert [region_of(HOST, start, set(order[:unhealthy])) for unhealthy in range(3)] == order


def test_a_neighbour_is_nearer_than_the_rest_of_the_continent() -> None:
    east, west = (DnsRecord(HOST, "d-any", region) for region in ("us-east-1", "us-west-2"))
    assert answer([east, west], HOST, "us-west-1", lambda _: True) == west


def test_if_none_is_healthy_all_count_as_healthy() -> None:
    assert region_of(HOST, "eu-west-2", set(REGIONS)) == "eu-west-1"


def test_a_record_without_a_check_answers_always() -> None:
    assert answer([*RECORDS, OWN], OWN.host, "us-east-1", lambda _: False) == OWN
    assert region_of(f"mars.{HOST}", "us-east-1", set()) is None


def statuses(results: str) -> str:
    """The status after each result: `+` is healthy, `-` is not."""
    health = Health()
    shown = ""
    for result in results:
        health.count("check", 2, healthy=result == "+")
        shown += "+" if health.healthy("check") else "-"
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


def test_only_one_stack_here_has_a_domain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "stacks", lambda: ["dev", "test"])
    State("dev").finish({domain.LOCAL: "http://127.0.0.1:1/"})
    domain.only_one("dev", "integers.example.com")
    domain.only_one("test", "")

    with pytest.raises(LocalError, match="the stack dev has a domain on this machine, and only one stack can have one"):
        domain.only_one("test", "ids.example.com")
