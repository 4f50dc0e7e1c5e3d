"""Paths, and what every module here needs. All that a local run leaves behind is under `.local/`."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

VERSION = 1
"""Of what `.local/` holds and of the server. Raise it when this code can't go on with what the code before has left."""


class LocalError(Exception):
    """An error for the user: one message that says what to do."""


def state_folder() -> Path:
    """Return `.local/` in the repository, or `GLOBAL_INTEGERS_LOCAL` (the tests keep theirs apart)."""
    return Path(os.environ.get("GLOBAL_INTEGERS_LOCAL") or ROOT / ".local")


def command(arguments: str) -> str:
    """Return a command of `local` as the user can type it: with this Python, which has the dependencies."""
    python = Path(sys.executable)
    shown = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shown} -m local {arguments}"


def start_afresh() -> str:
    """Return what to type where nothing can go on with what is there."""
    return f"start afresh, from 1: {command('down')}, then {command('up')}"
