"""The names that everything has on AWS: made here and nowhere else, since several components must agree on them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_ROLE_NAME = 64
"""Characters in the name of an IAM role (IAM API reference, CreateRole). A Lambda function's name may be as long."""

PREFIX = re.compile(r"[A-Za-z0-9_-]+")
"""What a Lambda function's name may hold (Lambda API reference, CreateFunction): stricter than tables and roles."""


@dataclass(frozen=True)
class ResourceNames:
    """Names that begin with `prefix`. A table or function is called the same in every region."""

    prefix: str

    @property
    def counters_table(self) -> str:
        """The table with a region's counters."""
        return f"{self.prefix}-counters"

    @property
    def receipts_table(self) -> str:
        """The table with a region's receipts."""
        return f"{self.prefix}-receipts"

    @property
    def layouts_table(self) -> str:
        """The table with the registers, in the home region."""
        return f"{self.prefix}-layouts"

    @property
    def mirror_table(self) -> str:
        """The table with a copy of the registers, in the home region."""
        return f"{self.prefix}-mirror"

    @property
    def mint_function(self) -> str:
        """The minting function."""
        return f"{self.prefix}-mint"

    @property
    def coordinate_function(self) -> str:
        """The coordinator, in the home region; its role is called the same."""
        return f"{self.prefix}-coordinate"

    @property
    def watch_rule(self) -> str:
        """The schedule of the coordinator."""
        return f"{self.prefix}-watch"

    @property
    def gateway_api(self) -> str:
        """The REST API."""
        return f"{self.prefix}-gateway"

    @property
    def domain_api(self) -> str:
        """The API of a region at the domain."""
        return f"{self.prefix}-address"

    def health_check(self, region: str) -> str:
        """Return the name of a region's health check, which is a tag. Health checks are global."""
        return f"{self.domain_api}-{region}"

    @property
    def alarms_topic(self) -> str:
        """The topic of the alarms in a region."""
        return f"{self.prefix}-alarms"

    def alarm(self, key: str) -> str:
        """Return the name of an alarm (`Alarm.name`). It is the same in every region."""
        return f"{self.prefix}-{key}"

    @property
    def budget(self) -> str:
        """The budget."""
        return f"{self.prefix}-budget"

    def mint_role(self, region: str) -> str:
        """Return the name of a minting function's role. Roles are global, so it holds the region."""
        return f"{self.mint_function}-{region}"

    def gateway_role(self, region: str) -> str:
        """Return the name of a REST API's role."""
        return f"{self.gateway_api}-{region}"

    def room(self, regions: Iterable[str], *, gateway: bool) -> int:
        """Return how long the prefix may be, so that all roles in these regions get names that IAM takes."""
        roles = [self.coordinate_function]
        for region in regions:
            roles += [self.mint_role(region), *([self.gateway_role(region)] if gateway else [])]
        return MAX_ROLE_NAME - max(map(len, roles)) + len(self.prefix)


STAYS = ["region", "name", "alarmName", "dashboardName"]
"""For `ignore_changes`: no change of settings moves a resource to another region, or gives it another name.

Another home region and another prefix are refused (`coordinator/deployment.py`). But without a preview, an update would
begin to replace resources before that. Setting it back would then fail, since their names are taken.
"""
