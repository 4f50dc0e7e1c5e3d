"""The client chooses the format."""

import pytest
from mint.api.formats import HTML, preferred

from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import Ask, Stack


@pytest.mark.parametrize(
    ("accept", "text"),
    [
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("text/plain", True),
        ("text/*", True),
        ("text/plain, application/json", False),
        ("application/json;q=0.5, text/plain", True),
        ("text/plain;q=0.5, */*;q=0.1", True),
        ("text/plain;q=0, */*", False),
        ("text/html;q=0", False),
        ("text/plain, text/html", True),
        ("text/html, application/json", False),
        ("TEXT/PLAIN", True),
        ("text/plain;q=x", True),
        (",;,q=;;", False),
    ],
)
def test_text_is_a_choice(accept: str, text: bool) -> None:
    assert preferred(accept) == ("text/plain" if text else "application/json")


def test_the_client_chooses_the_format(ask: Ask, stack: Stack) -> None:
    laid_out()
    json, text = ask("GET", "/", accept="*/*"), ask("GET", "/", accept="text/plain")

    assert (json["headers"]["Content-Type"], json["headers"]["Vary"]) == ("application/json", "Accept")
    assert json["body"] == '{"counter": "integers", "region": "us-east-1", "integer": 1}'
    assert (text["headers"]["Content-Type"], text["headers"]["Vary"]) == ("text/plain; charset=utf-8", "Accept")
    assert text["body"] == "4\n"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/html", "text/html"),
        ("text/html;q=0.5, text/plain", "text/plain"),
        ("text/*", "text/plain"),
        ("image/png", "application/json"),
    ],
)
def test_html_is_a_choice_where_there_is_a_page(accept: str, expected: str) -> None:
    assert preferred(accept, HTML) == expected
    assert preferred(accept) != HTML
