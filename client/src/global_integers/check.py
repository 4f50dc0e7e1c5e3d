"""Checks a deployment as its callers see it: `global-integers check`, for after `pulumi up`.

It mints a few integers from every region, so it leaves small gaps.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TypeVar

from .client import Client, api
from .client.address import Address
from .client.api import ApiRequest, Failure, MintedBlock
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
    run(client.locate(client.options.deadline()))
    checking = _Check(client, counter)
    for region in client.urls:
        checking.check_region(region)
    wrong = checking.report.wrong
    for epoch, strides in checking.strides.items():
        if len(strides) > 1:
            wrong.append(f"epoch {epoch} has strides {sorted(strides)}: the URLs are of different stacks")
    return checking.report


class _Check:
    def __init__(self, client: Client, counter: str) -> None:
        self.report = Report()
        self.strides: defaultdict[int, set[int]] = defaultdict(set)
        """Those of each epoch."""
        self._client = client
        self._counter = counter
        self._seen: dict[tuple[str, int], str] = {}
        """The region that minted an integer of a counter."""

    def check_region(self, region: str) -> None:
        wrong, key = self.report.wrong, f"check-{token_hex(8)}"
        first = self._ask(region, api.mint(self._counter, EACH))
        keyed = self._ask(region, api.mint(self._counter, 1, key))
        again = self._ask(region, api.mint(self._counter, 1, key))
        if first is None or keyed is None or again is None:
            return
        self.report.minted += EACH + 1
        status = self._ask(region, api.status(self._counter))
        if status is None:
            return
        if again.first != keyed.first or not again.replayed:
            wrong.append(f"{region}: a repeated key returned {again.first} after {keyed.first}")
        name = str(status.get("counter"))
        for integer in (*first.integers(), keyed.first):
            if (name, integer) in self._seen:
                wrong.append(f"{region}: minted {integer}, which {self._seen[name, integer]} has minted before")
            self._seen[name, integer] = region
        self._check_owner(region, name, first)
        run(self._client.check(region))  # it may open the connection
        health = run(self._client.check(region))
        if not health.ok:
            wrong.append(f"{region}: {health.reason or 'no response'}")
        seconds = health.seconds
        if seconds is not None and seconds > SLOW:
            wrong.append(f"{region}: a health check takes {seconds:.1f} s")
        latency = f"{seconds * 1000:.0f} ms" if seconds is not None else "-"
        self.report.regions[region] = f"{first.first} … {first.last}, stride {first.stride}, {latency}"

    def _check_owner(self, region: str, name: str, block: MintedBlock) -> None:
        found = self._ask(region, api.owner(name, block.first))
        if found is None:
            return
        owner, _ = found
        self.strides[owner.epoch].add(owner.stride)
        if owner.region != region:
            self.report.wrong.append(f"{region}: minted {block.first}, which belongs to {owner.region}")
        if block.stride != owner.stride or (block.first - owner.offset) % owner.stride:
            self.report.wrong.append(
                f"{region}: {block.first} with stride {block.stride} is not of offset {owner.offset}, "
                f"stride {owner.stride}"
            )

    def _ask(self, region: str, request: ApiRequest[T]) -> T | None:
        """Return a region's own answer, or None and report the failure."""
        answer = run(self._client.ask(region, request))
        if not isinstance(answer, Failure):
            return answer
        wrong = f"{region}: {request.subject}: {answer.reason}"
        self.report.wrong += [wrong] if wrong not in self.report.wrong else []
        self.report.hints += [answer.hint] if answer.hint and answer.hint not in self.report.hints else []
        return None
