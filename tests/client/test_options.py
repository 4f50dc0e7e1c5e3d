"""Wrong options, names and keys are refused before anything is sent, and the error says what is allowed."""

import copy
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from global_integers import AsyncIntegers, Integers
from global_integers.minting import api
from global_integers.minting.api import Failure, FailureKind, checked_counter, key_header
from global_integers.minting.options import ClientSettings, Options, urls_from

from global_integers_core.names import COUNTER_NAME
from local.command_line import as_text
from local.paths import ROOT

URLS = {"eu-west-1": "http://127.0.0.1:1/", "us-east-1": "http://127.0.0.1:2/"}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_time_that_is_none_is_named(value: float) -> None:
    """JSON, and so a scenario, has neither."""
    with pytest.raises(ValueError, match=f"timeout {value} is not above 0 and up to 86,400 seconds"):
        Integers(URLS, timeout=value)


@pytest.mark.parametrize("client", [Integers, AsyncIntegers])
@pytest.mark.parametrize("arguments", [(), ("http://127.0.0.1/", 7)], ids=["none", "too many"])
def test_an_error_of_a_call_names_the_users_class(client: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=rf"^{client.__name__}\.__init__\(\)"):
        client(*arguments)
    with pytest.raises(TypeError, match=rf"^{client.__name__}\.from_env\(\)"):
        client.from_env("outputs.json")


def test_what_is_no_function_is_named() -> None:
    with pytest.raises(ValueError, match=r"^http 5 is not a function"):
        Integers(URLS, http=5)  # pyright: ignore[reportArgumentType]


def test_a_path_that_cannot_be_read_is_shown_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f": {tmp_path}/integers.example.com; a domain's URL begins with https://"):
        urls_from("integers.example.com")


def test_every_option_has_a_default_and_a_row_in_the_docs() -> None:
    """An option is an entry of `ClientSettings` and its default, and a row for its readers."""
    defaults = {field.name: field.default for field in fields(Options) if field.name not in ("urls", "clock")}
    page = (ROOT / "docs" / "client.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page.partition("| option |")[2].partition("\n\n")[0], re.M))

    assert list(defaults) == list(ClientSettings.__annotations__) == list(rows)
    written = {name: row.strip("`").partition(" ")[0] for name, row in rows.items()}
    plain = {name: str(value).removesuffix(".0") for name, value in defaults.items() if value not in ("", None)}
    assert {name: written[name] for name in plain} == plain


def test_a_url_needs_no_final_slash() -> None:
    assert Options({"eu-west-1": "https://host/path"}).urls == {"eu-west-1": "https://host/path/"}


def test_urls_are_also_lines_of_regions(tmp_path: Path) -> None:
    shown, file = as_text(URLS), tmp_path / "urls"
    file.write_text(f"{shown}\n")

    assert urls_from(shown) == urls_from(f"{shown}\r\n") == urls_from(str(file)) == URLS
    with pytest.raises(ValueError, match="is not JSON"):
        urls_from(f"{shown}\nmore")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{empty}", r"outputs\.json is empty: the command that should have written it"),
        (" ", "the text is empty: the command that should have written it"),
        ("ftp://a/", "'ftp://a/' should begin with https:// or http://"),
        ("/no/such/file", "is not JSON, and no file with this path can be read"),
        ("{", "is not JSON"),
        ("[]", "the text has no URLs"),
        ('{"a":' + "[" * 100_000, "is not JSON"),
    ],
)
def test_other_texts_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "outputs.json").touch()

    with pytest.raises(ValueError, match=message):
        urls_from(text.replace("{empty}", str(tmp_path / "outputs.json")))


def test_the_environment_is_named_if_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOBAL_INTEGERS_URLS", raising=False)
    with pytest.raises(
        ValueError, match=r"GLOBAL_INTEGERS_URLS is not set; .* `.venv/bin/python -m local outputs --json > out"
    ):
        Integers.from_env()
    for empty in ("", " \n"):
        monkeypatch.setenv("GLOBAL_INTEGERS_URLS", empty)
        with pytest.raises(ValueError, match=r"GLOBAL_INTEGERS_URLS is empty; .* `pulumi stack output --json > out"):
            Integers.from_env()
    monkeypatch.setenv("GLOBAL_INTEGERS_URLS", "{}")
    with pytest.raises(ValueError, match="GLOBAL_INTEGERS_URLS: the text has no URLs"):
        Integers.from_env()
    monkeypatch.setenv("GLOBAL_INTEGERS_URLS", json.dumps(URLS))
    assert Integers.from_env(lease=5).client.options.lease == 5
    with pytest.raises(TypeError, match="leese"):
        Integers.from_env(leese=3)  # pyright: ignore[reportCallIssue]


DOMAIN, LOCAL = "https://integers.example.com/", "http://127.0.0.1:50001/"


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({"domainUrl": DOMAIN, "regions": ["eu-west-1"]}, DOMAIN),
        ({"domainUrl": DOMAIN, "urls": {}}, DOMAIN),
        ({"domainUrl": DOMAIN, "urls": {"eu-west-1": "https://eu-west-1.integers.example.com/"}}, DOMAIN),
        ({"domainUrl": DOMAIN, "urls": URLS}, URLS),
        ({"domainUrl": DOMAIN, "localDomainUrl": LOCAL, "urls": {}}, LOCAL),
        ({"domainUrl": DOMAIN, "localDomainUrl": LOCAL, "urls": URLS}, URLS),
        ({"domainUrl": DOMAIN, "localDomainUrl": 5, "urls": {}}, DOMAIN),
        ({"urls": URLS, "regions": ["eu-west-1"], "coordinator": "x"}, URLS),
        (URLS, URLS),
    ],
)
def test_urls_come_before_a_domain(
    outputs: dict[str, Any], expected: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in JSON, or in a file with it."""
    assert urls_from(DOMAIN) == DOMAIN
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(outputs))

    assert urls_from(json.dumps(outputs)) == urls_from(str(file)) == expected
    monkeypatch.setenv("GLOBAL_INTEGERS_URLS", str(file))
    assert Integers.from_env(prefer="eu-west-1").client.options.prefer == "eu-west-1"


def test_a_counters_name_is_what_the_api_takes() -> None:
    assert api.COUNTER_NAME.pattern == COUNTER_NAME.pattern
    assert checked_counter("orders-2026_x") == "orders-2026_x"
    for wrong in ("", "Orders", "-", "a/b", "a" * 64, "a\n"):
        with pytest.raises(ValueError, match="not a counter's name"):
            checked_counter(wrong)


@pytest.mark.parametrize(
    ("key", "header"),
    [("order-17", "order-17"), ("a,b", '"a,b"'), ('"', '"\\""'), ("a\\,b", '"a\\\\,b"'), ("a\\b", "a\\b")],
)
def test_a_key_is_quoted_where_it_is_ambiguous(key: str, header: str) -> None:
    assert key_header(key) == header


def test_a_client_shows_what_it_knows_of_its_regions() -> None:
    integers = Integers(URLS, counter="orders", lease=10)
    regions = integers.client.last.regions
    regions.to_check()
    regions.checked("eu-west-1", True, 0.0123)
    regions.failed("us-east-1", regions.clock(), Failure(FailureKind.SILENT, "no response"))

    known = "regions=eu-west-1 (12 ms), us-east-1 (not measured, left alone) lease=10"
    assert repr(integers) == f"<Integers 'orders' {known}>"
    assert repr(integers["tickets"]) == f"<Counter 'tickets' {known}>"
    assert repr(AsyncIntegers("https://integers.example.com/", counter="orders")) == (
        "<AsyncIntegers 'orders' domain=integers.example.com regions=not known yet lease=1>"
    )
    assert repr(Integers({"eu-west-1": "http://127.0.0.1:1/secret"})) == (
        "<Integers default counter regions=eu-west-1 (not measured) lease=1>"
    )
    assert repr(object.__new__(Integers)) == "<Integers (never made)>", "as a debugger may see it"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_client_is_shared_and_never_copied(copied: Callable[[object], object]) -> None:
    integers = Integers(URLS, lease=10)
    for original in (integers, integers["orders"]):
        with pytest.raises(TypeError, match=f"^{type(original).__name__} can't be copied or pickled; share it"):
            copied(original)
    assert integers["orders"] is integers["orders"]


@pytest.mark.parametrize("item", ["orders", 7])
def test_looking_for_something_by_minting_is_refused(item: object) -> None:
    integers = Integers(URLS)
    for counter in (integers, integers["orders"]):
        with pytest.raises(TypeError, match=r"integers\.owner\(n\) says who mints n"):
            _ = item in counter
