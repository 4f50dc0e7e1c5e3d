"""What a command shows while it works: lines that stay, and, on a terminal, one that shows how far it is.

It needs nothing but Python, since the installation of everything else is shown by it.
"""

import shutil
import sys

_shown: list[str] = []
"""The line that is to be overwritten, if there is one."""


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
    """Return whether somebody looks at the output."""
    return sys.stdout.isatty()


def _cleared() -> str:
    if not _shown:
        return ""
    _shown.clear()
    return "\r\033[K"
