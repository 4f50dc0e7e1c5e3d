"""Endpoints: the addresses of AWS's services."""

import re
from collections.abc import Mapping
from typing import NamedTuple

DOMAINS = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
"""Domains of the partitions other than `aws` and `aws-us-gov`, by the prefix of their regions."""

UNSUPPORTED = ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
"""Variables by which AWS's own clients choose endpoints. The names of those differ by region and service."""


class Endpoint(NamedTuple):
    """The address of a service; `secure` means TLS."""

    secure: bool
    host: str
    port: int
    path: str = ""
    """The beginning of every path, without a `/` at the end."""

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def endpoint_of(service: str, region: str, environment: Mapping[str, str]) -> Endpoint:
    """Return `AWS_ENDPOINT_URL_<SERVICE>`, else `AWS_ENDPOINT_URL`, else AWS's own endpoint in the region.

    Raises:
        ValueError: one of these variables is not an http or https URL, or another variable asks for an endpoint of a
            kind that is not supported.
    """
    for variable in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
        if url := environment.get(variable):
            return _parsed(variable, url)
    for variable in UNSUPPORTED:
        if environment.get(variable, "").lower() == "true":
            raise ValueError(
                f"{variable}: is not supported; remove it, or set AWS_ENDPOINT_URL_{service.upper()} to the endpoint, "
                f"like https://{service}-fips.us-east-1.amazonaws.com"
            )
    domain = next((domain for prefix, domain in DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return Endpoint(secure=True, host=f"{service}.{region}.{domain}", port=443)


def _parsed(variable: str, url: str) -> Endpoint:
    # urllib.parse would take 2 ms to import.
    found = re.fullmatch(
        r"(https?)://(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?(/[!-~]*)?", url, re.IGNORECASE
    )
    if not found or any(mark in url for mark in "?#"):
        raise ValueError(f"{variable}: {url!r} is not a URL like http://127.0.0.1:4566 or https://example.com")
    scheme, address, name, port, path = found.groups()
    secure = scheme.lower() == "https"
    host = (address or name).lower()
    return Endpoint(secure, host, int(port) if port else 443 if secure else 80, (path or "").rstrip("/"))
