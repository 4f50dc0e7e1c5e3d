"""What a command prints while it works: lines that stay and, on a terminal, one line with its progress.

It needs nothing but Python, since it also shows the progress of the first installation.
"""

import shutil
import sys

_shown: list[str] = []
"""The line that the next one overwrites, if there is one."""


def say(text: str) -> None:
    """Print a line that stays. Any thread may do so."""
    sys.stdout.write(f"{_cleared()}{text}\n")  # one write: threads never share a line
    sys.stdout.flush()


def show(text: str) -> None:
    """Show a line until the next one. Where there is no terminal, show nothing."""
    if is_terminal():
        _shown[:] = [text]
        sys.stdout.write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stdout.flush()


def clear() -> None:
    """Remove the line that is shown."""
    sys.stdout.write(_cleared())
    sys.stdout.flush()


def is_terminal() -> bool:
    """Return whether the output is a terminal."""
    return sys.stdout.isatty()


def _cleared() -> str:
    if not _shown:
        return ""
    _shown.clear()
    return "\r\033[K"
