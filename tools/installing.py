"""Installs pinned requirements for this Python: `python -m tools.installing requirements-local.txt`.

pip prints a hundred lines. They go to a file. A terminal shows one line with the progress, and an error is short.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local.environment import network_variables
from local.terminal import clear, end_on_ctrl_c, show

PACKAGE = re.compile(r"^[A-Za-z0-9._-]+==", re.MULTILINE)

FOUND = re.compile(r"\s*(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9._-]+)")

NO_NETWORK = re.compile(
    "Failed to establish a new connection|name resolution|Name or service not known|nodename nor servname|Max retries"
    "|Connection refused|Network is unreachable|Read timed out|Cannot connect to proxy|ProxyError"
)

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


def install(requirements: Path, log: Path, pip: Sequence[str] = PIP) -> None:
    """Install a file of pinned requirements, with pip's output in `log`, or end with a message for the user.

    The file names all that is needed, so pip looks for nothing else. Otherwise pip 23.2 would take the newest version
    of a package that another one needs with an extra (`coverage[toml]`), and refuse it for having no hash.
    """
    total, found = len(PACKAGE.findall(requirements.read_text())), 0
    command = [*pip, "install", "--no-deps", "--progress-bar=off", "--retries=2", "-r", str(requirements)]
    try:
        with (
            log.open("w") as log_file,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
        ):
            for line in process.stdout or ():
                log_file.write(line)
                if package := FOUND.match(line):
                    found = min(found + 1, total)
                    show(f"  {found} of {total}: {package[1]}")
                elif line.startswith("Installing collected packages"):
                    show(f"  {found} of {total}: unpacking")
    except OSError as error:
        sys.exit(f"error: {log} can't be written: {error.strerror}. Free space there, or let this user write there")
    clear()
    if process.returncode:
        output = log.read_text()
        errors = [line for line in output.splitlines() if line.startswith("ERROR: ")]
        if NO_NETWORK.search(output):
            why = "the package index can't be reached. Check the network, or the proxy that pip uses, and try again"
        else:
            why = errors[-1] if errors else f"pip ended with status {process.returncode}"
        set_ = ", ".join(network_variables(os.environ))
        hint = f" pip follows these variables of the environment; unset those that are wrong: {set_}." if set_ else ""
        sys.exit(f"error: {requirements} can't be installed: {why.rstrip('.')}.{hint} pip's output is in {log}")


if __name__ == "__main__":
    end_on_ctrl_c()
    install(Path(sys.argv[1]), Path(sys.prefix) / "install.log")
