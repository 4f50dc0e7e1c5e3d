"""`make up && python docs/photograph_page.py <a region's URL>`: the page, as docs/page.png. Mints some."""

import sys
from pathlib import Path

from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT), str(ROOT / "tests" / "local")]

from browser import browser  # noqa: E402


def photograph(url: str, target: Path, *, width: int, height: int, dark: bool) -> None:
    """`width` and `height` in CSS pixels."""
    with browser() as chromium:
        page = chromium.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page.goto(url)
        for _ in range(4):
            shown = page.locator("#integer").inner_text()
            page.get_by_role("button", name="Mint").click()
            expect(page.locator("#integer")).not_to_have_text(shown)
        page.screenshot(path=target)


if __name__ == "__main__":
    photograph(sys.argv[1], ROOT / "docs" / "page.png", width=880, height=560, dark=False)
