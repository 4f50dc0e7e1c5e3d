"""Settings that belong together, as several components take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class Region:
    """One region."""

    name: str
    kms_key: pulumi.Input[str] | None
    """The ARN of the key that encrypts its tables and logs. None: keys of AWS do."""
    paused: bool
    successors: Sequence[str]
    """If it leaves: the regions that mint, where its callers are to go. Otherwise empty."""

    @property
    def leaving(self) -> bool:
        """Whether it leaves."""
        return bool(self.successors)


@dataclass(frozen=True)
class Roles:
    """How every role is made."""

    path: str
    permissions_boundary: pulumi.Input[str] | None
    """The ARN of a policy."""


@dataclass(frozen=True)
class Access:
    """Who may call, from which pages, and what."""

    authorization: str
    callers: Mapping[str, Sequence[str]]
    """Pattern of callers → the counters that they may use."""
    cors_origins: Sequence[str]
    open_counters: bool

    @property
    def signed(self) -> bool:
        """Whether callers sign."""
        return self.authorization == "AWS_IAM"
