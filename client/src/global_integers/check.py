"""Checks a deployment as its callers see it: `global-integers check`, for after `pulumi up`.

It mints a few integers from every region, so it leaves small gaps.
"""

from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic
from typing import TypeVar

from .client import Client, api
from .client.address import Address
from .client.api import ApiRequest, Failure, MintedBlock, Owner
from .client.threads import run

EACH = 3
"""How many integers are minted from every region, besides two requests with one key."""

T = TypeVar("T")

SLOW = 1.0
"""Seconds that a region's health check may take over an open connection."""


@dataclass
class Report:
    """The result of a check. The deployment is in order if `wrong` is empty.

    Attributes:
        regions: a line for each region that answered.
        wrong: everything that is wrong, one message each.
        hints: what may help.
        minted: how many integers were minted.
    """

    regions: dict[str, str] = field(default_factory=dict[str, str])
    wrong: list[str] = field(default_factory=list[str])
    hints: list[str] = field(default_factory=list[str])
    minted: int = 0


def check(client: Client, counter: str = "") -> Report:
    """Mint from every region, and return what is wrong with the responses.

    No two regions may mint the same integer. Each integer must be its region's own by offset and stride. A key must
    return its integer again.

    Args:
        client: the client. Its regions are asked one by one.
        counter: the counter to check, "" for the default one.

    Raises:
        ValueError: the client has an address whose regions have no names.
        Unavailable, Refused: the client has an address, and the address doesn't name its regions.
    """
    if isinstance(client.urls, Address) and client.urls.alone:
        raise ValueError(f"{client.urls.name} has no names for its regions; give the regions' URLs instead")
    run(client.locate(monotonic() + client.options.timeout))
    report = Report()
    seen: dict[tuple[str, int], str] = {}
    strides: dict[tuple[str, int], int] = {}
    for region in client.urls:
        _check_region(client, region, counter, report, seen, strides)
    for epoch in {epoch for _, epoch in strides}:
        different = {stride for (_, known), stride in strides.items() if known == epoch}
        if len(different) > 1:
            report.wrong.append(f"epoch {epoch} has strides {sorted(different)}: the URLs are of different stacks")
    return report


def _check_region(
    client: Client,
    region: str,
    counter: str,
    report: Report,
    seen: dict[tuple[str, int], str],
    strides: dict[tuple[str, int], int],
) -> None:
    key = f"check-{token_hex(8)}"
    blocks = [
        _ask(client, region, api.mint(counter, count, used), report)
        for count, used in ((EACH, None), (1, key), (1, key))
    ]
    if any(block is None for block in blocks):
        return
    first, keyed, again = (block for block in blocks if block is not None)
    report.minted += EACH + 1
    status = _ask(client, region, api.status(counter), report)
    if status is None:
        return
    if again.first != keyed.first or not again.replayed:
        report.wrong.append(f"{region}: a repeated key returned {again.first} after {keyed.first}")
    name = str(status.get("counter"))
    for integer in (*first.integers(), keyed.first):
        if (name, integer) in seen:
            report.wrong.append(f"{region}: minted {integer}, which {seen[name, integer]} has minted before")
        seen[name, integer] = region
    owner = _ask(client, region, api.owner(name, first.first), report)
    if owner is not None:
        _check_owner(region, first, owner[0], report, strides)
    run(client.check(region))  # it may open the connection
    health = run(client.check(region))
    if not health.ok:
        report.wrong.append(f"{region}: {health.reason or 'no response'}")
    seconds = health.seconds
    if seconds is not None and seconds > SLOW:
        report.wrong.append(f"{region}: a health check takes {seconds:.1f} s")
    latency = f"{seconds * 1000:.0f} ms" if seconds is not None else "-"
    report.regions[region] = f"{first.first} … {first.integers()[-1]}, stride {first.stride}, {latency}"


def _check_owner(
    region: str, block: MintedBlock, owner: Owner, report: Report, strides: dict[tuple[str, int], int]
) -> None:
    strides[region, owner.epoch] = owner.stride
    if owner.region != region:
        report.wrong.append(f"{region}: minted {block.first}, which belongs to {owner.region}")
    if block.stride != owner.stride or (block.first - owner.offset) % owner.stride:
        report.wrong.append(
            f"{region}: {block.first} with stride {block.stride} is not of offset {owner.offset}, stride {owner.stride}"
        )


def _ask(client: Client, region: str, request: ApiRequest[T], report: Report) -> T | None:
    """Return a region's own answer, or None and report the failure."""
    answer = run(client.ask(region, request))
    if isinstance(answer, Failure):
        wrong = f"{region}: {request.subject}: {answer.reason}"
        report.wrong += [wrong] if wrong not in report.wrong else []
        report.hints += [answer.hint] if answer.hint and answer.hint not in report.hints else []
        return None
    return answer
