"""The names that everything has on AWS: made here and nowhere else, since several components must agree on them."""

import re
from collections.abc import Iterable

MAX_ROLE_NAME = 64
"""Characters in the name of an IAM role (IAM API reference, CreateRole). A Lambda function's name may be as long."""

PREFIX = re.compile(r"[A-Za-z0-9_-]+")
"""What a Lambda function's name may hold (Lambda API reference, CreateFunction): stricter than tables and roles."""


class ResourceNames:
    """Names that begin with `prefix`. A table, function, API, topic or rule is called the same in every region."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.counters_table = f"{prefix}-counters"
        self.receipts_table = f"{prefix}-receipts"
        self.layouts_table = f"{prefix}-layouts"
        self.mirror_table = f"{prefix}-mirror"
        self.mint_function = f"{prefix}-mint"
        self.coordinate_function = f"{prefix}-coordinate"
        self.schedule_rule = f"{prefix}-schedule"
        self.gateway_api = f"{prefix}-gateway"
        self.domain_api = f"{prefix}-domain"
        self.alarms_topic = f"{prefix}-alarms"
        self.budget = f"{prefix}-budget"

    def health_check(self, region: str) -> str:
        """Return the name of a region's health check, which is a tag. Health checks are global, as are roles."""
        return f"{self.domain_api}-{region}"

    def dashboard(self, home: str) -> str:
        """Return the name of the dashboard. Dashboards are global: that of another home region must be another one."""
        return f"{self.prefix}-{home}"

    def alarm(self, key: str) -> str:
        """Return the name of an alarm (`MetricAlarm.name`). It is the same in every region."""
        return f"{self.prefix}-{key}"

    def coordinate_role(self, home: str) -> str:
        """Return the name of the coordinator's role: of another home region, it is another one."""
        return f"{self.coordinate_function}-{home}"

    def mint_role(self, region: str) -> str:
        """Return the name of a minting function's role."""
        return f"{self.mint_function}-{region}"

    def gateway_role(self, region: str) -> str:
        """Return the name of a REST API's role."""
        return f"{self.gateway_api}-{region}"

    def room(self, home: str, regions: Iterable[str], *, gateway: bool) -> int:
        """Return how long the prefix may be, so that all roles in these regions get names that IAM takes."""
        role = self.gateway_role if gateway else self.mint_role  # the longer one
        longest = max(map(len, (self.coordinate_role(home), *map(role, regions))))
        return MAX_ROLE_NAME - longest + len(self.prefix)


STAYS = ["region", "name", "alarmName", "dashboardName"]
"""For `ignore_changes`: no change of settings moves a resource to another region, or gives it another name.

Both are refused (`coordinator/deployment.py`). But without a preview, an update would begin to replace resources before
that. Setting it back would then fail, since their names are taken.
"""

MOVES = ["functionVersion", "description"]
"""For `ignore_changes`: the coordinator moves aliases, once it has checked a version."""
