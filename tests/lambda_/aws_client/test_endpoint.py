"""Endpoints: those of the environment, else AWS's own in the region."""

import botocore.session
import pytest
from aws_client.signed_request import Endpoint, endpoint_of
from botocore.endpoint_provider import EndpointProvider

from components.settings.aws_regions import partitions


def test_a_regions_endpoint_is_botocores() -> None:
    loader = botocore.session.get_session().get_component("data_loader")
    rules = loader.load_service_model("dynamodb", "endpoint-rule-set-1")
    theirs = EndpointProvider(rules, loader.load_data("partitions"))
    assert len(partitions()) > 30

    for region in partitions():
        url = theirs.resolve_endpoint(Region=region, UseDualStack=False, UseFIPS=False).url
        ours = endpoint_of("dynamodb", region, {})
        assert f"https://{ours.authority}" == url
        assert (ours.secure, ours.port) == (True, 443)


@pytest.mark.parametrize("variable", ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])
def test_fips_and_dual_stack_endpoints_are_refused_by_name(variable: str) -> None:
    with pytest.raises(ValueError, match=f"^{variable}: is not supported.*AWS_ENDPOINT_URL_DYNAMODB"):
        endpoint_of("dynamodb", "us-east-1", {variable: "true"})

    assert endpoint_of("dynamodb", "us-east-1", {variable: "false"}).host == "dynamodb.us-east-1.amazonaws.com"
    named = {variable: "true", "AWS_ENDPOINT_URL_DYNAMODB": "https://dynamodb-fips.us-east-1.amazonaws.com"}
    assert endpoint_of("dynamodb", "us-east-1", named).host == "dynamodb-fips.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    ("url", "expected", "authority"),
    [
        ("http://127.0.0.1:4566", Endpoint(False, "127.0.0.1", 4566), "127.0.0.1:4566"),
        ("http://localhost:80/", Endpoint(False, "localhost", 80), "localhost"),
        ("https://Example.COM/a/b/", Endpoint(True, "example.com", 443, "/a/b"), "example.com"),
        ("https://x:80", Endpoint(True, "x", 80), "x:80"),
        ("http://[::1]:8000", Endpoint(False, "::1", 8000), "[::1]:8000"),
    ],
)
def test_the_environment_can_name_another(url: str, expected: Endpoint, authority: str) -> None:
    endpoint = endpoint_of("dynamodb", "eu-west-1", {"AWS_ENDPOINT_URL": url})

    assert endpoint == expected
    assert endpoint.authority == authority


def test_the_services_own_variable_has_priority() -> None:
    environment = {"AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://b:2"}

    assert endpoint_of("dynamodb", "eu-west-1", environment).host == "b"
    assert endpoint_of("lambda", "eu-west-1", environment).host == "a"
    assert endpoint_of("lambda", "eu-west-1", {"AWS_ENDPOINT_URL": ""}).host == "lambda.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:4566", "ftp://a", "http://", "http://a:b"),
        *("http://a:1\r\nX: y", "http://u@a", "http://a/?b", "http://[a"),
    ],
)
def test_an_invalid_url_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match=r"AWS_ENDPOINT_URL: .* is not a URL like"):
        endpoint_of("dynamodb", "eu-west-1", {"AWS_ENDPOINT_URL": url})
