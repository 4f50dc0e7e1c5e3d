"""A resource's tags, which every service sets in a call of its own."""

from collections.abc import Mapping
from typing import Any

from ..state import Made


def changed_tags(inputs: Mapping[str, Any], before: Made | None) -> tuple[dict[str, str], list[str]]:
    """Return the tags to set, and the keys of those to remove."""
    wanted: dict[str, str] = dict(inputs.get("tags") or {})
    had: Mapping[str, str] = (before.inputs.get("tags") or {}) if before else {}
    return ({} if wanted == had else wanted), [key for key in had if key not in wanted]
