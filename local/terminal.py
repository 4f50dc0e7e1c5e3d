"""What a command prints while it works, and how Ctrl-C ends it. The first installation uses it: it needs only Python.

Ctrl-C ends a command at once, as a kill would. The next run finds what an interrupted one has made, so nothing must be
undone or waited for.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress
from typing import NoReturn

STATUS = 128 + signal.SIGINT
"""The exit status, as shells report a command that SIGINT ended."""


def end_on_ctrl_c() -> None:
    """End this process at every Ctrl-C from now on, unless it was started to ignore it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: object) -> NoReturn:
    with suppress(OSError, RuntimeError, ValueError):  # a pipe without a reader; in the middle of a write; closed
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, b"\ninterrupted; run the same command again to continue\n")
    os._exit(STATUS)


_shown: list[str] = []
"""The line that the next one overwrites, if there is one."""


def say(text: str) -> None:
    """Print a line that stays. Any thread may do so."""
    sys.stdout.write(f"{_cleared()}{text}\n")  # one write: threads never share a line
    sys.stdout.flush()


def show(text: str) -> None:
    """Show a line until the next one. Where there is no terminal, show nothing."""
    if sys.stdout.isatty():
        _shown[:] = [text]
        sys.stdout.write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stdout.flush()


def clear() -> None:
    """Remove the line that is shown."""
    sys.stdout.write(_cleared())
    sys.stdout.flush()


def _cleared() -> str:
    if not _shown:
        return ""
    _shown.clear()
    return "\r\033[K"
