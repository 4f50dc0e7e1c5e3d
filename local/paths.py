"""Paths, and what every module here needs. All that a local run leaves behind is under `.local/`."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""


def state_folder() -> Path:
    """`.local/` in the repository, or `GLOBAL_INTEGERS_LOCAL` (the tests keep theirs apart)."""
    return Path(os.environ.get("GLOBAL_INTEGERS_LOCAL") or ROOT / ".local")


VERSION = 2
"""Of what `.local/` holds and of the server. Raise it when this version can't go on with what an older one left."""

START_AFRESH = "start afresh, from 1: python -m local down, then python -m local up"


class LocalError(Exception):
    """An error for the user: one message that says what to do."""
