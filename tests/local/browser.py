"""A headless Chromium, as a user has it: the one that is installed on this machine."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_A_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It looks up nobody, and runs as root too, as in a container."""


def executable() -> str:
    """The browser's path.

    Raises:
        RuntimeError: there is none, and how to get one.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and ON_A_MAC.exists():
        found = str(ON_A_MAC)
    if found is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is installed; on Debian and Ubuntu: make packages")
    return found


@contextmanager
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable(), args=list(QUIET))
        try:
            yield launched
        finally:
            launched.close()
