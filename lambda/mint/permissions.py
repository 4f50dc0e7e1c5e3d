"""Who may use which counter, by the identity that signed the request. Imported only with the setting `callers`.

A role that was assumed is named by its session, without the role's path:
`arn:aws:sts::123456789012:assumed-role/shop/i-0abc`. So it also counts as `arn:aws:iam::123456789012:role/shop`, and a
pattern of a role counts without its path. This loses nothing: an account has no two roles of the same name.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from .model import RequestRefused

ALL = "*"


class Allowed(NamedTuple):
    """What one caller may use."""

    caller: str
    """The ARN of the user or role: all sessions of a role are one caller."""
    names: list[str] | None
    """The counters in order, or None if it may use all."""


class Callers:
    """The setting `callers`."""

    def __init__(self, setting: str) -> None:
        """Read the setting: a JSON object, pattern of ARNs → counters. `*` is any text, or all counters."""
        rules: Mapping[str, list[str]] = json.loads(setting)
        self._rules = [(_compiled(pattern), counters) for pattern, counters in rules.items()]

    def allowed(self, signer: str, counter: str | None = None) -> Allowed:
        """Return what the user, role or session with this ARN may use.

        Raises:
            RequestRefused: it isn't listed, is "", or may not use this counter, which needn't exist.
        """
        if not signer:
            raise RequestRefused("forbidden", "this request doesn't say who signed it, which the setting callers needs")
        caller = as_role(signer)
        found = [counters for pattern, counters in self._rules if any(map(pattern.fullmatch, {signer, caller}))]
        names = {name for counters in found for name in counters}
        if not found or (counter is not None and names.isdisjoint((ALL, counter))):
            what = f"not use the counter {counter!r}" if found else "use no counter"
            message = f"{signer} may {what}; an operator can add it to the setting callers"
            raise RequestRefused("forbidden", message)
        return Allowed(caller, None if ALL in names else sorted(names))


def as_role(arn: str) -> str:
    """Return the ARN of the role, without its path, of a role or of a session of it; another ARN unchanged."""
    *head, resource = arn.split(":", 5)
    kind, *names = resource.split("/")
    if kind == "assumed-role" and len(names) == 2 and head[2:3] == ["sts"]:
        return ":".join([*head[:2], "iam", *head[3:], f"role/{names[0]}"])
    return ":".join([*head, f"role/{names[-1]}"]) if kind == "role" and names else arn


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of ARNs as a regular expression. One of sessions stays one of sessions.

    The resource, which is the last part, may hold colons; the parts before it don't.
    """
    *head, resource = (pattern if ":assumed-role/" in pattern else as_role(pattern)).split(":", 5)
    parts = [re.escape(part).replace(r"\*", "[^:]*") for part in head]
    return re.compile(":".join([*parts, re.escape(resource).replace(r"\*", ".*")]))
