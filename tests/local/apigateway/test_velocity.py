"""Mapping templates render as on API Gateway."""

import pytest

from local.apigateway.rest_api import Rendered, render

PARAMETERS = {
    "path": {"counter": "orders"},
    "querystring": {"counter": "hidden", "count": "5", "text": "a\"b'/"},
    "header": {"counter": "hidden", "count": "hidden", "idempotency-key": "k"},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("$input.params('counter') $input.params('count') $input.params('idempotency-key')", "orders 5 k"),
        ("[$input.params('nonesuch')]", "[]"),
        ("$util.escapeJavaScript($input.params('text'))", "a\\\"b\\'\\/"),
        ("$input.params().path.counter $input.params().querystring.counter", "orders hidden"),
        ("$input.path('$.Attributes.issued.N')", "7"),
        ("#set($item = $input.path('$.Attributes'))$item.issued.N", "7"),
        ("[$!input.path('$.Attributes.nonesuch.N')]", "[]"),
        ("[$!input.path('$.Attributes.issued.N.deeper')]", "[]"),
    ],
)
def test_it_reads_the_parameters_and_the_document(template: str, text: str) -> None:
    assert render(template, PARAMETERS, '{"Attributes": {"issued": {"N": "7"}}}') == Rendered(text)
