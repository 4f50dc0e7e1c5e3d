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


URL, OF_DYNAMODB = "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"
FIPS, DUAL_STACK = "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"
OWN = Endpoint(True, "dynamodb.eu-west-1.amazonaws.com", 443)


@pytest.mark.parametrize(
    ("environment", "expected", "authority"),
    [
        ({URL: "http://127.0.0.1:4566"}, Endpoint(False, "127.0.0.1", 4566), "127.0.0.1:4566"),
        ({URL: "http://localhost:80/"}, Endpoint(False, "localhost", 80), "localhost"),
        ({URL: "https://Example.COM/a/b/"}, Endpoint(True, "example.com", 443, "/a/b"), "example.com"),
        ({URL: "https://x:80"}, Endpoint(True, "x", 80), "x:80"),
        ({URL: "http://[::1]:8000"}, Endpoint(False, "::1", 8000), "[::1]:8000"),
        ({URL: "http://a", OF_DYNAMODB: "http://b"}, Endpoint(False, "b", 80), "b"),
        ({URL: "http://a", "AWS_ENDPOINT_URL_LAMBDA": "http://b"}, Endpoint(False, "a", 80), "a"),
        ({URL: "", FIPS: "false", DUAL_STACK: "false"}, OWN, OWN.host),
        ({FIPS: "true", DUAL_STACK: "true", OF_DYNAMODB: "https://b"}, Endpoint(True, "b", 443), "b"),
    ],
)
def test_the_environment_can_name_another(environment: dict[str, str], expected: Endpoint, authority: str) -> None:
    endpoint = endpoint_of("dynamodb", "eu-west-1", environment)

    assert (endpoint, endpoint.authority) == (expected, authority)


@pytest.mark.parametrize("variable", [FIPS, DUAL_STACK])
def test_fips_and_dual_stack_endpoints_are_refused_by_name(variable: str) -> None:
    with pytest.raises(ValueError, match=f"^{variable}: is not supported.*{OF_DYNAMODB}"):
        endpoint_of("dynamodb", "us-east-1", {variable: "true"})


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
