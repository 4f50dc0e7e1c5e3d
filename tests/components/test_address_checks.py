"""Wrong settings of the address are reported with what is allowed."""

from typing import Any

import pytest

from components.address_checks import MAX_DOMAIN, within
from components.partitions import WITHOUT_FUNCTION_URLS, partitions
from tests.components.recording import Aws as Recorder
from tests.components.running import THREE, config, deploy
from tests.components.test_checks import lines

DOMAIN = "integers.example.com"
LONG = f"{'x' * 40}.{'y' * (MAX_DOMAIN - 40 - len('.example.com') - 1)}.example.com"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"domain": "integers"}, "domain: 'integers' is not a host name in lower case, like integers.example.com"),
        ({"domain": "Integers.example.com"}, "is not a host name in lower case"),
        ({"domain": "https://integers.example.com/"}, "is not a host name"),
        ({"domain": "*.example.com"}, "is not a host name"),
        ({"domain": "integers.example.com."}, "is not a host name"),
        ({"domain": "-x.example.com"}, "is not a host name"),
        ({"domain": "192.0.2.1"}, "is not a host name"),
        ({"domain": f"{'x' * 64}.com"}, "is not a host name"),
        ({"domain": f"z{LONG}"}, f"has {MAX_DOMAIN + 1} characters; at most {MAX_DOMAIN} are possible"),
        (
            {"hostedZone": "example.com"},
            "hostedZone: 'example.com' is for domain, which is not set; set both, or neither",
        ),
        ({"hostedZone": "Z123"}, "hostedZone: 'Z123' is for domain, which is not set"),
        (
            {"domain": DOMAIN, "hostedZone": "example.org"},
            f"hostedZone: 'example.org' is neither domain, {DOMAIN!r}, nor a parent of it; use the zone that holds it",
        ),
        ({"domain": DOMAIN, "hostedZone": "ample.com"}, "hostedZone: 'ample.com' is neither domain"),
        ({"domain": DOMAIN, "hostedZone": "x.integers.example.com"}, "'x.integers.example.com' is neither"),
        (
            {"domain": DOMAIN, "hostedZone": "/hostedzone/Z123"},
            "is neither a zone's name, like example.com, nor its id",
        ),
        ({"functionUrls": False}, "functionUrls: may be false only if domain is set; otherwise nobody could mint"),
        ({"functionUrls": "off"}, "functionUrls: 'off' is neither true nor false"),
        (
            {"domain": DOMAIN, "functionUrls": False, "corsOrigins": ["https://shop.example"]},
            "corsOrigins: needs functionUrls: true or authorization: NONE; the address doesn't let pages sign requests",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(given: dict[str, Any], expected: str) -> None:
    found = lines(config(*THREE, **given))

    assert len(found) == 1, found
    assert expected in found[0]


@pytest.mark.parametrize(
    "given",
    [
        {"domain": LONG},
        {"domain": "xn--bcher-kva.example.com"},
        {"domain": "a.b.c-1.example.com", "hostedZone": "c-1.example.com."},
        {"domain": "example.com", "hostedZone": "example.com"},
        {"domain": DOMAIN, "hostedZone": "Z123", "functionUrls": False},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"]},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"], "functionUrls": False, "authorization": "NONE"},
        {"domain": "", "hostedZone": ""},
    ],
)
def test_a_right_value_is_accepted(given: dict[str, Any]) -> None:
    zones = {"Z9": "c-1.example.com", "Z8": "example.com", "Z123": "example.com"}
    assert deploy(config(THREE[0], **given), aws=Recorder(zones=zones)).resources


def test_a_region_without_function_urls_may_mint_behind_the_address() -> None:
    region = min(WITHOUT_FUNCTION_URLS)
    given: dict[str, Any] = {"domain": DOMAIN, "functionUrls": False}

    assert deploy(config(THREE[0], region, leaving=["ca-west-1"], **given)).outputs["regions"] == [THREE[0], region]
    assert "has no Lambda Function URLs" in lines(config(THREE[0], region, domain=DOMAIN))[0]


@pytest.mark.parametrize(
    ("domain", "zone", "held"),
    [
        (DOMAIN, DOMAIN, True),
        (DOMAIN, "example.com", True),
        (DOMAIN, "com", True),
        (DOMAIN, "s.example.com", False),
        ("example.com", DOMAIN, False),
    ],
)
def test_a_zone_holds_its_own_name_and_those_below_it(domain: str, zone: str, held: bool) -> None:
    assert within(domain, zone) == held


def test_every_name_fits_in_dns_and_none_is_that_of_the_gateways() -> None:
    longest = max(map(len, partitions()))

    assert "gateway" not in partitions()
    assert longest + 1 + MAX_DOMAIN <= 253
    assert longest <= 63
