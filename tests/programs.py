"""The programs that some tests need besides Python: where they are, and how they are installed.

`python -m tests.programs` installs what is missing where it can: by apt, as root or by `sudo` without a password.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SERVERS = ("/usr/sbin", "/usr/local/sbin")
"""Debian keeps servers where only root looks."""

ON_A_MAC = {"google-chrome": Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")}


@dataclass(frozen=True)
class Program:
    """A program that may be missing.

    Args:
        title: Its name in messages.
        commands: What must be there: one command of each group.
        packages: The packages of Debian and Ubuntu that have them. None of these starts a service.
        quick: Whether a test that runs it is quick enough for `make check`.
    """

    title: str
    commands: tuple[tuple[str, ...], ...]
    packages: tuple[str, ...]
    quick: bool = False

    def paths(self) -> tuple[str, ...]:
        """Return the path of one command of each group; empty if a group has none."""
        found = [next(filter(None, map(path, group)), None) for group in self.commands]
        return () if None in found else tuple(filter(None, found))

    @property
    def missing(self) -> str | None:
        """Why a test that needs it can't run; None if it can."""
        if self.paths():
            return None
        return f"{self.title} is not installed (Debian and Ubuntu: apt-get install {' '.join(self.packages)})"


CHROMIUM = Program(
    "Chromium", (("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),), ("chromium",)
)
MARIADB = Program(
    "MariaDB", (("mariadb",), ("mariadbd",), ("mariadb-install-db",)), ("mariadb-server-core", "mariadb-client-core")
)
MAKE = Program("make", (("make",),), ("make",), quick=True)
PROGRAMS = {"chromium": CHROMIUM, "mariadb": MARIADB, "make": MAKE}


def path(command: str) -> str | None:
    """Return where a command is, or None."""
    found = shutil.which(command, path=os.pathsep.join((os.environ.get("PATH", ""), *SERVERS)))
    on_a_mac = ON_A_MAC.get(command)
    return str(on_a_mac) if found is None and on_a_mac and on_a_mac.exists() else found


def as_root() -> list[str] | None:
    """Return what runs a command as root without asking anybody, or None if nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def install(programs: list[Program]) -> str | None:
    """Install programs by apt.

    Returns:
        Why nothing was installed, or None. A package that apt refused shows in `Program.missing`.
    """
    if not shutil.which("apt-get"):
        return "there is no apt-get here"
    prefix = as_root()
    if prefix is None:
        return "only root may install, and sudo needs a password or is missing"
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    subprocess.run([*apt, "update"])
    for program in programs:
        # Nothing that is installed is removed for a test, such as a MySQL server, which MariaDB's packages replace.
        subprocess.run([*apt, "install", "-y", "--no-remove", "--no-install-recommends", *program.packages])
    return None


def main() -> None:
    """Install what is missing, and print what stays so."""
    missing = [program for program in PROGRAMS.values() if program.missing]
    refused = install(missing) if missing else None
    if refused:
        print(f"not installed: {', '.join(program.title for program in missing)}: {refused}")
    for program in missing:
        if program.missing:
            print(f"{program.missing}: the tests that need it {'fail' if os.environ.get('CI') else 'are skipped'}")


if __name__ == "__main__":
    main()
