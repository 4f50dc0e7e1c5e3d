"""One domain for all regions, such as `https://integers.example.com/`. The nearest healthy region answers.

The client asks it first which regions there are (`GET /-/status`). From then on, it sends requests to the regions' own
host names, `https://<region>.integers.example.com/`: so it can fail over at once, and keep a key with its region.
"""

import logging
import time
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import Any

from ..errors import FailedEverywhere, Refused, Unavailable
from .api import regions as regions_of
from .failover import Failover
from .options import IN_FILES, Deadline, Options, checked_url, shown
from .signing import ANY_REGION, API_GATEWAY, Signature, found_credentials

REFRESH = 300.0
"""Seconds after which the regions are read again, in the background, so that all processes soon know the same ones."""

AWS_HOSTS = (".on.aws", ".amazonaws.com", ".amazonaws.com.cn")

log = logging.getLogger("global_integers")


class Domain:
    """What is known of a domain. Where a region is asked for, `name` means the domain itself.

    If its host is on this machine or is an IP address, its regions have no host names. It is then the only "region".
    """

    def __init__(self, url: str, options: Options) -> None:
        self._scheme, host, port, self._path = _parsed(url)
        self.name = host + port
        """The domain's host, with its port if it has one."""
        self.alone = _is_local(host)
        """Whether its regions have no host names, so that it is asked for everything."""
        self._options = options
        self._credentials = found_credentials(required=True, any_region=True) if options.sign else None

    def url(self, region: str) -> str:
        """Return the URL of a region, or of the domain itself."""
        host = self.name if region == self.name else f"{region}.{self.name}"
        return f"{self._scheme}://{host}{self._path}"

    def signature(self, region: str) -> Signature | None:
        """Return how requests to a region, or to the domain itself, are signed; None: they aren't.

        A host name doesn't show whether they must be. Unless `sign` is True, signing begins after the first refusal.
        """
        if self._credentials is None:
            return None
        return Signature(ANY_REGION if region == self.name else region, self._credentials, API_GATEWAY)

    async def locate(self, failover: Failover, deadline: Deadline, start: Callable[[Any], bool]) -> None:
        """Read which regions there are: at once if none are known, one left or a call failed; else in time, by `start`.

        Raises:
            Unavailable: no regions are known, and the domain names none. The next call asks again.
            Refused: no regions are known, and the domain refuses to name them.
            CannotSign: the domain wants a signature, and botocore, awscrt or the credentials are missing.
        """
        if self.alone:
            return
        if failover.regions.outdated or not failover.regions.names:
            await self._read(failover, deadline)
        elif time.monotonic() >= failover.regions.read_at + REFRESH:
            failover.regions.read_at = time.monotonic()
            start(partial(self._read, failover, self._options.deadline()))

    async def _read(self, failover: Failover, deadline: Deadline) -> None:
        """Read the regions. The known ones stay if the domain names none within one attempt's time."""
        known = failover.regions.names
        deadline = deadline._replace(attempt=self._options.attempt_timeout)
        if known:
            deadline = deadline._replace(ends=min(deadline.ends, time.monotonic() + deadline.attempt))
        found: list[str] = []
        try:
            if self._options.counter:  # which may not exist yet
                found = await self._asked(failover, deadline, self._options.counter)
            found = found or await self._asked(failover, deadline, "")
        except (FailedEverywhere, Refused) as failed:
            failover.regions.outdated = False  # don't ask again before the next failure
            if known:
                log.warning("%s; its regions stay %s", failed, ", ".join(known))
                return
            if isinstance(failed, Refused):
                raise
            message = f"{self.url(self.name)} doesn't say which regions it has. The next call asks again:"
            raise Unavailable(message, failed.reasons, failed.hints) from None
        if set(found) != set(known):
            log.info("%s has the regions %s", self.url(self.name), ", ".join(found))
            if self._options.prefer is not None and self._options.prefer not in found:
                log.warning("prefer %r is none of the regions %s", self._options.prefer, ", ".join(found))
        failover.regions.read_at = time.monotonic()
        failover.regions.replace(found, last=self.name)

    async def _asked(self, failover: Failover, deadline: Deadline, counter: str) -> list[str]:
        """Return the regions that the domain names. Sign from now on if it wants that."""
        request = regions_of(self.url(self.name), counter)
        unsigned = self._credentials is None
        try:
            return await failover.answer(request, deadline, [self.name])
        except Refused as refused:
            if refused.status not in (401, 403) or not unsigned or self._options.sign is False:
                raise
        if self._credentials is None:  # else another call has begun to sign
            self._credentials = found_credentials(required=True, any_region=True)
        return await failover.answer(request, deadline, [self.name])


def _parsed(url: str) -> tuple[str, str, str, str]:
    """Return a domain's scheme, host, port (":8443"; "": the scheme's own) and path, which ends with a slash."""
    parsed = checked_url(url, f"the domain {shown(url)}", f"https://integers.example.com/{IN_FILES}")
    host = parsed.hostname or ""
    if host.endswith(AWS_HOSTS):
        raise ValueError(
            f"{url!r} is one region's URL, not a domain; give it with its region: {{'eu-west-1': {url!r}}}"
        )
    own = parsed.port in (None, {"http": 80, "https": 443}[parsed.scheme])
    name = f"[{host}]" if ":" in host else host.encode("idna").decode("ascii")
    return parsed.scheme, name, "" if own else f":{parsed.port}", parsed.path.rstrip("/") + "/"


def _is_local(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True
