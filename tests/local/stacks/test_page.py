"""The page in a headless Chromium, at a deployment on this machine."""

import json
import re
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from mint.api.pages import COLOURS, colour_of
from mint.api.pages import page as minting_page
from mint.api.problems import ceiling_reached
from mint.api.reply import problem_response
from mint.model import CounterItem
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from global_integers_core.lattice import Layout
from tests.local.browser import browser
from tests.local.machine import HANGING, Machine, mint

pytestmark = pytest.mark.needs("chromium")

REGION = "eu-west-1"


@pytest.fixture(scope="module")
def url(opened: Machine) -> str:
    return opened.outputs()["urls"][REGION]


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    expect.set_options(timeout=HANGING * 1000)
    with browser() as launched:
        yield launched


@pytest.fixture
def context(chromium: Browser) -> Generator[BrowserContext]:
    context = chromium.new_context()
    context.set_default_timeout(HANGING * 1000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, url: str) -> Generator[Page]:
    """The page, just opened. An error on the console fails the test, also a violation of the page's policy."""
    said: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url)
    yield page
    assert [line for line in said if not EXPECTED.search(line)] == []


EXPECTED = re.compile(r"Failed to load resource: (the server responded with a status of \d+|net::ERR_FAILED)")
"""What Chromium reports for every response that a test makes fail; `test_it_opens_in_silence` doesn't allow it."""


def big(page: Page) -> str:
    return page.locator("#integer").inner_text()


def minted(page: Page) -> int:
    """Mint one with the button; return the integer that the page shows."""
    before = big(page)
    page.get_by_role("button", name="Mint").click()
    expect(page.locator("#integer")).not_to_have_text(before)
    return int(big(page))


def test_it_mints_one_and_lights_it_up_on_the_number_line(page: Page, url: str) -> None:
    n = minted(page)

    assert n % 3 == 2
    assert minted(page) == n + 3
    line = page.locator("#line")
    expect(line.locator(".new")).to_have_text(f"{n + 3}2")
    assert line.locator(".minted").count() == 2
    assert line.get_by_title(f"{n + 2}: us-east-1", exact=True).count() == 1
    assert line.get_by_title(f"{n + 3}: {REGION}, minted here", exact=True).count() == 1
    assert page.locator("#regions").inner_text().split() == ["1", "us-east-1", "2", "eu-west-1", "3", "ap-southeast-2"]


def test_opening_and_reloading_say_and_mint_nothing(context: BrowserContext, url: str) -> None:
    before = mint(url)[1]["integer"]
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    page.reload()

    assert page.locator("header").inner_text().split("\n") == ["Global integers", f"region {REGION}"]
    expect(page.locator("#integer")).to_have_text("–")
    expect(page.locator("#note")).to_have_text("Nothing minted yet.")
    expect(page.get_by_role("button", name="Mint")).to_be_focused()
    assert minted(page) == before + 3
    assert said == []
    assert all(asked_url.startswith((url, "data:")) for asked_url in asked), asked


def test_a_wrong_count_in_the_url_is_told(page: Page, url: str) -> None:
    page.goto(f"{url}?count=1001")

    expect(page.get_by_role("alert")).to_have_text(
        "count '1001' is not an integer from 1 to 1000, the most that this page mints."
    )
    expect(page.get_by_label("How many")).to_have_value("1")


def test_it_looks_an_owner_up(page: Page, url: str) -> None:
    page.get_by_label("Counter").fill("orders")
    page.get_by_label("Owner of").fill("7")
    page.get_by_role("button", name="Show").click()

    expect(page).to_have_url(f"{url}orders/7")
    expect(page.locator(".note")).to_have_text("7 of the counter orders belongs to us-east-1.")


@pytest.mark.parametrize(
    ("field", "button", "wrong"),
    [("Owner of", "Show", "0"), ("Owner of", "Show", "1" * 17), ("Counter", "Mint", "Orders"), ("Counter", "Mint", "")],
)
def test_what_is_wrong_is_not_even_sent(page: Page, field: str, button: str, wrong: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_label(field).evaluate("(input, wrong) => { input.value = wrong }", wrong)
    page.get_by_role("button", name=button).click()

    assert page.get_by_label(field).evaluate("input => input.matches(':invalid')")
    assert asked == []


def test_it_mints_many_of_another_counter_and_copies_them(context: BrowserContext, page: Page, url: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert mint(url, "copied", "PUT")[0] == 201
    page.get_by_label("Counter").fill("copied")
    page.get_by_label("How many").fill("100")
    page.get_by_role("button", name="Mint").click()

    expect(page.locator("#integer")).to_have_text("2 … 299")
    expect(page.locator("#note")).to_have_text(
        f"100 integers of the counter copied, from {REGION}: every 3rd from 2 to 299."
    )
    assert page.url == url + "copied"
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied: str = page.evaluate("navigator.clipboard.readText()")
    assert copied.split("\n") == [str(n) for n in range(2, 300, 3)]
    page.reload()
    expect(page.get_by_label("Counter")).to_have_value("copied")


def test_it_works_by_keyboard(page: Page) -> None:
    page.keyboard.press("Enter")
    expect(page.locator("#integer")).not_to_have_text("–")
    first = int(big(page))
    page.get_by_label("How many").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    expect(page.locator("#integer")).to_have_text(f"{first + 3} … {first + 6}")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Copy")).to_be_focused()


def test_an_unknown_counter_is_an_error(page: Page, url: str) -> None:
    page.get_by_label("Counter").fill("nothing")
    page.get_by_role("button", name="Mint").click()
    expect(page.get_by_role("alert")).to_have_text("there is no counter 'nothing' in this region")
    expect(page.locator("#integer")).to_have_text("–")
    page.get_by_label("Counter").fill("integers")
    minted(page)
    expect(page.locator("#wrong")).to_be_empty()

    page.goto(url + "nope")
    expect(page.get_by_role("alert")).to_have_text(
        f"there is no counter 'nope' in this region; to create it: curl -X PUT {url}nope"
    )
    expect(page.locator("#line li").first).to_have_attribute("title", "1: unknown")


def test_a_region_that_has_left_says_where_to_go(page: Page, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "This region has left and no longer mints. Use another one: us-east-1, us-west-2."
    monkeypatch.setenv("LEAVING", "us-east-1,us-west-2")
    closed = CounterItem(2, 3, 2, 1, fenced=True, attributes={})
    opened = minting_page("integers", REGION, [], closed, open_counters=False)
    refused = problem_response(ceiling_reached("integers", 1, closed), REGION)
    page.route(url, lambda route: route.fulfill(headers=opened["headers"], body=opened["body"]))
    page.goto(url)
    expect(page.get_by_role("alert")).to_have_text(said)
    expect(page.locator("#integer")).to_have_text("–")

    page.unroute(url)
    page.goto(url)
    expect(page.locator("#wrong")).to_be_empty()
    page.route(url + "integers?*", lambda route: route.fulfill(status=410, json=json.loads(refused["body"])))
    page.get_by_role("button", name="Mint").click()
    expect(page.get_by_role("alert")).to_have_text(said)


Answer = tuple[bool, dict[str, Any] | None]
"""Whether the request reaches the function, and the response, if one arrives."""

NO_NETWORK: Answer = (False, None)
LOST: Answer = (True, None)
FAILED: Answer = (True, {"status": 500, "json": {"detail": "unexpected error"}})
REFUSED: Answer = (False, {"status": 503, "headers": {"Retry-After": "1"}, "json": {"detail": "a change of layout"}})


def answered(page: Page, url: str, *answers: Answer) -> list[str | None]:
    """Answer the requests that mint in these ways, and let all others pass. Return their keys, as they come."""
    keys: list[str | None] = []

    def answer(route: Route) -> None:
        keys.append(route.request.headers.get("idempotency-key"))
        reached, response = answers[len(keys) - 1] if len(keys) <= len(answers) else (False, {})
        if reached:
            route.fetch()
        if response is None:
            route.abort()
        elif response:
            route.fulfill(**response)
        else:
            route.continue_()

    page.route(url + "integers?*", answer)  # the POST; the GET of the page has no count
    return keys


def test_a_lost_response_costs_nothing(page: Page, url: str) -> None:
    before = mint(url)[1]["integer"]
    keys = answered(page, url, LOST, REFUSED)

    assert minted(page) == before + 3
    assert (len(keys), len(set(keys))) == (3, 1)
    assert mint(url)[1]["integer"] == before + 6


def test_it_says_that_it_retries(page: Page, url: str) -> None:
    page.clock.install(time=0)
    page.goto(url)
    page.clock.pause_at(60_000)
    answered(page, url, *[REFUSED] * 4)
    note = page.locator("#note")
    page.get_by_role("button", name="Mint").click()

    for attempt in (2, 3, 4):
        expect(note).to_have_text(f"No integer yet. Trying again: attempt {attempt} of 4.")
        expect(page.get_by_role("button", name="Mint")).to_be_disabled()
        page.clock.run_for(5_000)  # ms of the page's time
    expect(page.get_by_role("alert")).to_have_text("a change of layout")
    expect(note).to_have_text("Nothing minted yet.")


@pytest.mark.parametrize(
    ("answers", "said"),
    [([NO_NETWORK] * 4, re.compile("^No response")), ([FAILED], "unexpected error")],
    ids=["none", "500"],
)
def test_after_an_error_the_next_click_repeats_the_request(
    page: Page, url: str, answers: list[Answer], said: str | re.Pattern[str]
) -> None:
    before = mint(url)[1]["integer"]
    keys = answered(page, url, *answers)
    page.get_by_role("button", name="Mint").click()
    expect(page.get_by_role("alert")).to_have_text(said)

    assert minted(page) == before + 3
    assert (len(keys), len(set(keys))) == (len(answers) + 1, 1)


def test_a_response_of_lambda_itself_is_shown(page: Page, url: str) -> None:
    body = '{"Reason": "ConcurrentInvocationLimitExceeded"}'
    page.route(url + "integers*", lambda route: route.fulfill(status=429, body=body))
    page.get_by_role("button", name="Mint").click()

    expect(page.get_by_role("alert")).to_contain_text("429")
    expect(page.get_by_role("button", name="Mint")).to_be_enabled()


def test_it_gives_up_when_no_response_comes(page: Page, url: str) -> None:
    page.clock.install()
    keys: list[str | None] = []
    page.route(url + "integers*", lambda route: keys.append(route.request.headers.get("idempotency-key")))
    page.get_by_role("button", name="Mint").click()
    for _ in range(60):
        page.clock.run_for(5_000)  # ms of the page's time
        if page.get_by_role("alert").inner_text():
            break

    expect(page.get_by_role("alert")).to_contain_text("No response")
    expect(page.get_by_role("button", name="Mint")).to_be_enabled()
    assert len(set(keys)) == 1


LAYOUTS = [Layout(1, 1, ("us-east-1", REGION)), Layout(2, 21, ("us-east-1", "ap-southeast-2", REGION))]


def opened_with(page: Page, url: str, layouts: Sequence[Layout], item: CounterItem, *, domain: str = "") -> None:
    """Open the page as a region shows it that knows these layouts and has this item."""
    shown = minting_page("integers", REGION, layouts, item, open_counters=False, domain=domain)
    page.route(url, lambda route: route.fulfill(headers=shown["headers"], body=shown["body"]))
    page.goto(url)


def test_a_region_that_was_unreachable_shows_what_it_still_mints(page: Page, url: str) -> None:
    opened_with(page, url, LAYOUTS, CounterItem(16, 2, 20, 1, fenced=False, attributes={}))

    expect(page.locator("#caption")).to_contain_text(f"{REGION} are in bold: 18, 20, 21, …")
    present, following = page.locator("#regions ul").all_inner_texts()
    assert present.split("\n") == ["1 to 20:", "1 us-east-1", "2 eu-west-1"]
    assert following.split("\n") == ["from 21:", "1 us-east-1", "2 ap-southeast-2", "3 eu-west-1"]
    colours = "all => all.map(e => e.style.getPropertyValue('--colour'))"
    regions = ("us-east-1", REGION, "us-east-1", "ap-southeast-2", REGION)
    assert page.locator("#regions i").evaluate_all(colours) == [colour_of(region) for region in regions]
    assert set(page.locator("#line li").evaluate_all(colours)) == {colour_of(region) for region in regions}


def test_at_the_domain_it_leads_to_the_other_regions(page: Page) -> None:
    item = CounterItem(24, 3, 81, 2, fenced=False, attributes={})
    opened_with(page, "http://localhost:4566/", LAYOUTS, item, domain="localhost")

    expect(page.locator("#line li").first).to_have_attribute("title", f"21: {REGION}")
    links = page.locator("#regions a")
    assert links.all_inner_texts() == ["1 us-east-1", "2 ap-southeast-2"], "those of the newest layout, without itself"
    assert links.evaluate_all("all => all.map(a => a.href)") == [
        f"http://{region}.localhost:4566/integers" for region in ("us-east-1", "ap-southeast-2")
    ]


def test_a_change_of_layout_shows_with_the_next_mint(page: Page, url: str) -> None:
    opened_with(page, url, [Layout(1, 1, (REGION,))], CounterItem(1, 1, 30, 1, fenced=False, attributes={}))
    expect(page.locator("#regions li")).to_have_count(1)

    n = minted(page)
    expect(page.locator("#regions li")).to_have_text(["1 us-east-1", "2 eu-west-1", "3 ap-southeast-2"])
    expect(page.locator("#line").get_by_title(f"{n + 1}: ap-southeast-2", exact=True)).to_have_count(1)


def test_a_browser_goes_from_minting_to_the_owner_and_back(page: Page, url: str) -> None:
    n = minted(page)
    page.get_by_role("link", name=f"Owner of {n}").click()
    expect(page.get_by_role("row", name="region the only one")).to_contain_text(REGION)
    expect(page.get_by_role("row", name="minted")).to_contain_text("yes")

    page.get_by_role("link", name="Status of integers").click()
    page.get_by_role("link", name=str(n), exact=True).click()
    expect(page).to_have_url(f"{url}integers/{n}")
    page.get_by_role("link", name="Mint from integers").click()
    assert minted(page) == n + 3
    page.get_by_role("link", name="Status of integers").click()
    expect(page.get_by_role("row", name="position")).to_contain_text(str(n + 3))
    page.goto(url + "nothing/7")
    expect(page.locator("#state")).to_have_text("404 Not Found: there is no counter 'nothing' in this region")
    page.get_by_role("link", name="Mint").click()
    expect(page).to_have_url(url)


CONTRAST = """(cell, colour) => {
  cell.style.setProperty("--colour", colour);
  const parts = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((v) => text.startsWith("color(") ? +v : v / 255);
  const light = (element, which) => parts(getComputedStyle(element)[which])
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const [a, b] = [light(cell.querySelector("small"), "color"), light(cell, "backgroundColor")].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_integer_can_be_read_in_every_colour(page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    minted(page)

    for cell in (page.locator("#line .new"), page.locator("#line li:not(.minted)").first):
        ratios = {region: cell.evaluate(CONTRAST, colour) for region, colour in COLOURS.items()}
        assert min(ratios.values()) >= 4.5, ratios  # WCAG 2.2, 1.4.3


def test_it_fits_a_phone_also_without_scripts(chromium: Browser, url: str) -> None:
    phone: Any = {"viewport": {"width": 360, "height": 640}, "color_scheme": "dark", "has_touch": True}
    context = chromium.new_context(**phone)
    page = context.new_page()
    page.goto(url)
    page.get_by_label("How many").fill("1000")
    page.get_by_role("button", name="Mint").tap()
    expect(page.locator("#integer")).to_contain_text("…")

    for target in ("Mint", "Copy"):
        box = page.get_by_role("button", name=target).bounding_box()
        assert box is not None
        assert box["height"] >= 44
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", back)[:3])) < 200, back
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.goto(url + "n" * 63)
    expect(page.get_by_role("alert")).to_contain_text("there is no counter")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    context.close()
    context = chromium.new_context(**phone, java_script_enabled=False)
    page = context.new_page()
    for path in ("integers/299999999", f"-/status?counter={'n' * 63}", f"{'n' * 63}/1"):
        page.goto(url + path)
        expect(page.locator("header")).to_contain_text(REGION)
        assert page.locator("html").evaluate("html => html.scrollWidth") == 360, path
    context.close()
