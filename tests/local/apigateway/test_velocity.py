"""Mapping templates render as on API Gateway."""

import json

import airspeed  # pyright: ignore[reportMissingTypeStubs]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.apigateway.rest_api import Rendered, render

PARAMETERS = {
    "path": {"counter": "orders"},
    "querystring": {"counter": "hidden", "count": "5"},
    "header": {"counter": "hidden", "count": "hidden", "idempotency-key": "k"},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("$input.params('counter') $input.params('count') $input.params('idempotency-key')", "orders 5 k"),
        ("[$input.params('nonesuch')]", "[]"),
        ("$input.params().path.counter $input.params().querystring.counter", "orders hidden"),
        ("$input.path('$.Attributes.issued.N')", "7"),
        ("#set($item = $input.path('$.Attributes'))$item.issued.N", "7"),
        ("[$!input.path('$.Attributes.nonesuch.N')]", "[]"),
        ("[$!input.path('$.Attributes.issued.N.deeper')]", "[]"),
    ],
)
def test_it_reads_the_parameters_and_the_document(template: str, text: str) -> None:
    assert render(template, PARAMETERS, '{"Attributes": {"issued": {"N": "7"}}}') == Rendered(text)


@pytest.mark.parametrize("body", ["", "no JSON", "[1]", "7", "null"])
def test_a_document_without_the_path_gives_nothing(body: str) -> None:
    assert render("[$!input.path('$.a.b')]", {}, body).text == "[]"


def test_status_and_headers_are_overridden() -> None:
    template = """
#set($context.responseOverride.status = 404)
#set($context.responseOverride.header.Retry-After = "1")
gone"""

    rendered = render(template, {}, "")

    assert (rendered.status, rendered.text.strip()) == (404, "gone")


@pytest.mark.parametrize("override", ["status = 404", "header.Retry-After = '1'"])
def test_an_override_can_be_set_once(override: str) -> None:
    once = f"#set($context.responseOverride.{override})"

    assert render(once, {}, "").text == ""
    with pytest.raises(airspeed.TemplateExecutionError, match="overridden twice"):
        render(once * 2, {}, "")


@given(st.text())
def test_escaped_text_stays_within_its_string(text: str) -> None:
    rendered = render("\"$util.escapeJavaScript($input.params('text'))\"", {"path": {"text": text}}, "").text

    assert json.loads(rendered.replace("\\'", "'")) == text
