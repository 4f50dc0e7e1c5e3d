"""Checks the settings of the stack's address, and collects what is wrong."""

import re

from .checks import Checks

LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"({LABEL}\.)+[a-z]([a-z0-9-]{{0,61}}[a-z0-9])?")
"""RFC 1123, section 2.1, in lower case. The last label isn't a number."""

MAX_DOMAIN = 64
"""ACM API reference, RequestCertificate: the longest `DomainName`. So a name with a region in front always fits into
the 253 characters of DNS."""

ZONE_ID = re.compile(r"Z[A-Z0-9]{1,31}")
"""Route 53 API reference, HostedZone: the id, without `/hostedzone/`."""


class AddressChecks:
    """Adds what is wrong to the errors of `checks`."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def domain(self) -> str:
        """Return the host name that all regions share; empty if there is none."""
        domain = self._checks.text("domain", default="")
        if domain and not HOST.fullmatch(domain):
            self._checks.wrong("domain", domain, "is not a host name in lower case, like integers.example.com")
        elif len(domain) > MAX_DOMAIN:
            self._checks.wrong(
                "domain",
                domain,
                f"has {len(domain)} characters; at most {MAX_DOMAIN} are possible: ACM's limit for a certificate",
            )
        return domain

    def hosted_zone(self, domain: str) -> str:
        """Return the name or the id of the zone, without a final dot; empty if the records are made by hand."""
        zone = self._checks.text("hosted_zone", default="").removesuffix(".")
        if not zone:
            return ""
        key = self._checks.key("domain")
        if not domain:
            self._add("hosted_zone", f"{zone!r} is for {key}, which is not set; set both, or neither")
        if ZONE_ID.fullmatch(zone):
            return zone  # its name is only known to Route 53 (hosted_zone.py)
        if not HOST.fullmatch(zone):
            self._checks.wrong("hosted_zone", zone, "is neither a zone's name, like example.com, nor its id, like Z123")
        elif domain and not within(domain, zone):
            self._checks.wrong(
                "hosted_zone", zone, f"is neither {key}, {domain!r}, nor a parent of it; use the zone that holds it"
            )
        return zone

    def function_urls(self, domain: str) -> bool:
        """Return whether the regions have Function URLs. Without them, the address is the only way in."""
        on = self._checks.boolean("function_urls", default=True)
        if not on and not domain:
            self._add(
                "function_urls",
                f"may be false only if {self._checks.key('domain')} is set; otherwise nobody could mint",
            )
        return on

    def origins(self, origins: tuple[str, ...], *, signed: bool, function_urls: bool) -> None:
        """Check that the pages of these origins have a way to mint."""
        if origins and signed and not function_urls:
            self._add(
                "cors_origins",
                f"needs {self._checks.key('function_urls')}: true or {self._checks.key('authorization')}: NONE; "
                "the address doesn't let pages sign requests",
            )

    def _add(self, name: str, what: str) -> None:
        self._checks.errors.append(f"{self._checks.key(name)}: {what}")


def within(domain: str, zone: str) -> bool:
    """Return whether a zone of this name holds the domain: the zone has the domain's name, or that of a parent."""
    return domain == zone or domain.endswith(f".{zone}")
