"""A headless Chromium, as a user has it: the one that is installed on this machine."""

from collections.abc import Generator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tools.programs import CHROMIUM

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It makes no request of its own, and also runs as root, as in a container."""


@contextmanager
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM.paths()[0], args=list(QUIET))
        try:
            yield launched
        finally:
            launched.close()
