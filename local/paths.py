"""Paths, and what every module here needs. All that a local run leaves behind is under `.local/`."""

import errno
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

VERSION = 1
"""Of what `.local/` holds and of the server. Raise it when this code can't go on with what the code before has left."""


class LocalError(Exception):
    """An error for the user: one message that says what to do."""


FOLDER_VARIABLE = "GLOBAL_INTEGERS_LOCAL"


def state_folder() -> Path:
    """Return `.local/` in the repository, or `GLOBAL_INTEGERS_LOCAL` (the tests keep theirs apart)."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".local").absolute()


def write(path: Path, text: str) -> None:
    """Write a file in one step: whatever happens, it has the text or is as before. An `OSError` names it."""
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()  # what was written of it takes space
        raise OSError(error.errno, error.strerror, str(fresh)) from error


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a write says where there is no space."""


def storage_problem(error: OSError) -> str:
    """Return what is wrong with the output or the state folder, and what to do. Empty: the error is about neither."""
    folder = state_folder()
    if error.filename is None:
        return f"the output can't be written: {error.strerror}; what was done stays done" if error.errno in FULL else ""
    path = Path(str(error.filename))
    if not (path.is_relative_to(folder) or folder.is_relative_to(path)):
        return ""
    what = "Free space" if error.errno in FULL else "Let this user write files"
    return (
        f"{path}: {error.strerror}. All that runs here is recorded in {folder}. {what} there, or set the environment "
        f"variable {FOLDER_VARIABLE} to another folder; then run the same command again: it goes on from here"
    )


def command(arguments: str) -> str:
    """Return a command of `local` as the user can type it: with this Python, which has the dependencies."""
    python = Path(sys.executable)
    shown = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shown} -m local {arguments}"


OF_PULUMI = re.compile(r"`pulumi (up|preview)(?: --refresh)?((?: -c [^` ]+)*)`")
"""Pulumi commands in messages of the program and the coordinator. The local ones replace them, and always refresh."""

ANSWER = re.compile(r"`recovery: \{loss: (\S+), above: ([^}]+)\}`")
"""A setting in messages of the coordinator, which is an option on this machine."""


def as_here(text: str) -> str:
    """Return a message with the commands that there are on this machine."""
    text = ANSWER.sub(r"""`-c 'recovery={"loss": "\1", "above": \2}'`""", text)
    return OF_PULUMI.sub(lambda found: f"`{command(found[1] + found[2])}`", text)


def start_afresh() -> str:
    """Return what to type where nothing can go on with what is there."""
    above = """-c 'floors={"*": 1000000}'"""
    return f"start afresh, from 1: {command('down')}, then {command('up')} (to begin at 1,000,000: up {above})"
