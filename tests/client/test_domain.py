"""Which URLs a domain stands for. tests/client/test_integers.py mints from one."""

import pytest
from global_integers import Integers
from global_integers.minting.domain import Domain
from global_integers.minting.options import Options


@pytest.mark.parametrize(
    ("url", "region", "expected"),
    [
        ("https://integers.example.com", "eu-west-1", "https://eu-west-1.integers.example.com/"),
        ("https://Integers.Example.com/", "eu-west-1", "https://eu-west-1.integers.example.com/"),
        ("https://i.example.com:8443/x/", "us-gov-west-1", "https://us-gov-west-1.i.example.com:8443/x/"),
        ("https://i.example.com/", "eusc-de-east-1", "https://eusc-de-east-1.i.example.com/"),
        ("https://i.example.com/", "i.example.com", "https://i.example.com/"),
        ("http://127.0.0.1:4566/", "127.0.0.1:4566", "http://127.0.0.1:4566/"),
        ("http://[::1]:4566", "[::1]:4566", "http://[::1]:4566/"),
    ],
)
def test_each_region_has_a_name_below_its_domain(url: str, region: str, expected: str) -> None:
    assert Domain(url, Options(url)).url(region) == expected


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://a.localhost:8/", "https://[::1]/"])
def test_this_machine_has_no_names_for_regions(url: str) -> None:
    client = Integers(url).client

    assert client.domain is not None
    assert client.domain.alone
    assert client.last.regions.names == [client.domain.name]
