"""Where things lie. All that a local run leaves behind is under `.local/`."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""


def state_folder() -> Path:
    """`.local/` in the repository, or `GLOBAL_INTEGERS_LOCAL` (the tests keep theirs apart)."""
    return Path(os.environ.get("GLOBAL_INTEGERS_LOCAL") or ROOT / ".local")


class LocalError(Exception):
    """Something that the user is told, in one message, and can act on."""
