"""Mints from every region, shows the integers as a table, and runs the client's own check of the deployment."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from .domain.instructions import DOMAIN, LOCAL, how_to, moving, plain
from .domain.zone import HTTP_API_FAILED
from .operations import Deployed
from .paths import ROOT, LocalError, command
from .server import server


def check(urls: Mapping[str, str], proxy: str = "") -> None:
    """Run `global-integers check` against these regions. It prints its result.

    Args:
        urls: region → its URL.
        proxy: the URL of what stands for the domain here, if the URLs are names of it.

    Raises:
        LocalError: the check found something wrong, and has printed it.
    """
    print("global-integers check", flush=True)
    through = dict.fromkeys(("http_proxy", "HTTP_PROXY"), proxy) | {"no_proxy": "", "NO_PROXY": ""} if proxy else {}
    done = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(dict(urls)), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "src"), **through},
        check=False,
    )
    if done.returncode:
        raise LocalError("the deployment failed its check; what is wrong is printed above")


MINTS = 5
"""Integers per region."""

MOVE_TIMEOUT = 15
"""Seconds. The shared name leaves a region out after two failed checks, which are 2 s apart here."""


class Paused(LocalError):
    """A region is in the setting `paused`."""


def mint(url: str, counter: str = "", proxy: str = "") -> int:
    """Return one integer from a region's URL.

    Args:
        url: the URL.
        counter: a counter's name; by default the first one.
        proxy: the URL of what stands for the domain here, if the URL is one of its names.

    Raises:
        LocalError: the URL takes signed requests only.
        Paused: the region takes no requests.
        OSError: No response, or one without an integer.
    """
    # No other proxy: whatever the environment says, the URL is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))
    try:
        with opener.open(urllib.request.Request(url + counter, method="POST"), timeout=30) as response:
            return json.load(response)["integer"]
    except urllib.error.HTTPError as error:
        with error:
            body = error.read()
        if error.code == HTTPStatus.TOO_MANY_REQUESTS or body == HTTP_API_FAILED.body.encode():
            raise Paused(f"{url} answers {error.code}: the region is paused, or it has too many requests") from error
        if error.code != HTTPStatus.FORBIDDEN:
            raise
        raise LocalError(
            "the URLs take signed requests only (authorization: AWS_IAM); docs/api.md says how to sign.\n"
            "The demo doesn't sign. To open them, run `up` again as before, but with: -c authorization=NONE"
        ) from error


def mint_everywhere(outputs: Mapping[str, Any], proxy: str = "") -> dict[str, list[int]]:
    """Mint `MINTS` integers in every region, in turn. Return them by region; none of a paused one. `proxy`: see `mint`.

    Raises:
        LocalError: all regions are paused, or the URLs take signed requests only.
        OSError: see `mint`.
    """
    minted: dict[str, list[int]] = {region: [] for region in outputs["regions"]}
    for _ in range(MINTS):
        for region, integers in minted.items():
            with suppress(Paused):
                integers.append(mint(outputs["urls"][region], proxy=proxy))
    if not any(minted.values()):
        raise LocalError("all regions are paused: run `up` again as before, but without `paused`")
    return minted


def mint_once_moved(url: str) -> int:
    """Return one integer from the shared name's URL, once it no longer leads to a paused region.

    Raises:
        Paused: it still does after `MOVE_TIMEOUT` seconds.
        OSError: see `mint`.
    """
    deadline = time.monotonic() + MOVE_TIMEOUT
    while time.monotonic() < deadline:
        with suppress(Paused):
            return mint(url)
        time.sleep(0.5)
    return mint(url)


def table(outputs: Mapping[str, Any], minted: Mapping[str, list[int]]) -> str:
    """Return what was minted as a table. Each URL has a line of its own, so a narrow terminal can show the table."""
    rows = [("region", "offset", "stride", "just minted")]
    for region, integers in minted.items():
        place = outputs["layout"][region]
        rows.append((region, str(place["offset"]), str(place["stride"]), ", ".join(map(str, integers)) or "paused"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = [lines[0], "  ".join("─" * width for width in widths)]
    regions = zip(lines[1:], minted, strict=True)
    return "\n".join([*head, *(f"{line}\n  {outputs['urls'][region]}" for line, region in regions)])


def next_commands(outputs: Mapping[str, Any], proxy: str = "") -> str:
    """Return what the user may type next. `proxy`: see `mint`."""
    url = next(iter(outputs["urls"].values()))
    return f"mint one more:  curl {f'-x {proxy} ' if proxy else ''}{url}\nend it:         {command('down')}"


def demo(stack: str) -> None:
    """Mint in every region, print a table, and check all regions as a caller sees them."""
    exported = Deployed(stack).outputs
    local = exported.get(LOCAL, "")
    by_name = any(url.startswith("https:") for url in exported["urls"].values())  # there are no Function URLs
    if by_name and not local:
        raise LocalError(f"there are no Function URLs to mint by.\n{how_to(exported).rstrip()}")
    proxy = local if by_name else ""
    exported["urls"] = plain(exported["urls"])
    if local and not DOMAIN.runs():
        raise LocalError("the process that stands for the address has ended. To start it, run `up` again as before")
    try:
        minted = mint_everywhere(exported, proxy)
        print(f"\n{table(exported, minted)}\n")
        exported["urls"] = {region: url for region, url in exported["urls"].items() if minted[region]}
        if local:
            print(f"the address, {local}, minted {mint_once_moved(local)}\n")
        check(exported["urls"], proxy)
        print(f"\n{next_commands(exported, proxy)}")
        if local:
            print(moving(exported))
    except OSError as error:
        raise LocalError(f"minting failed: {error}\n{server.SERVICE.log_end()}") from error
