"""The programs that some tests need besides Python: where they are, and how they are installed.

`python -m tools.programs` installs what is missing where it can: by apt, as root or by `sudo` without a password.
"""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"

POSTGRESQL_SERVERS = Path("/usr/lib/postgresql").glob("*/bin") if shutil.which("psql") else ()
SERVERS = ("/usr/sbin", "/usr/local/sbin", *map(str, POSTGRESQL_SERVERS))
"""Debian keeps servers where only root looks, and PostgreSQL's where nobody does."""


@dataclass(frozen=True)
class Program:
    """A program that may be missing.

    Args:
        title: Its name in messages.
        commands: What must be there: one command of each group.
        packages: The packages of Debian and Ubuntu that have them. Of these, only PostgreSQL's starts a service.
        quick: Whether a test that runs it is quick enough for `make check`. The other tests are `long`.
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

    @property
    def impossible(self) -> str | None:
        """Why it can't be installed on this kind of machine; None if it can."""
        return None

    def fetch(self) -> None:
        """Fetch what isn't in the packages, once they are installed: nothing."""


@dataclass(frozen=True)
class JavaProgram(Program):
    """A program from Maven, with a class of our own that starts it.

    Args:
        folder: Where its pom.xml and the class are.
        main: The class.
        fetched: Where it is kept. `make clean` removes it.
    """

    folder: Path = Path()
    main: str = ""
    fetched: Path = Path()

    def command(self) -> list[str]:
        """Return the command that runs it. Its options follow."""
        # Java expands the `*` itself. Libraries that aren't Java's lie beside the others.
        path = os.pathsep.join((str(self.fetched), f"{self.fetched}/*"))
        return ["java", f"-Djava.library.path={self.fetched}", "-cp", path, self.main]

    @property
    def impossible(self) -> str | None:
        """Why it can't be installed on this kind of machine; None if it can."""
        here = platform.machine()
        return None if here.lower() in ("x86_64", "amd64") else f"{self.title} has no SQLite for {here}"

    @property
    def missing(self) -> str | None:
        """Why a test that needs it can't run; None if it can."""
        if reason := self.impossible or super().missing:
            return reason
        if all(copied.is_file() and copied.read_bytes() == file.read_bytes() for file, copied in self._files()):
            return None
        return f"{self.title} is not installed (.venv/bin/python -m tools.programs)"

    def fetch(self) -> None:
        """Fetch it by Maven, as that is set up here, and compile the class. What fails shows in `missing`."""
        if not self.paths():
            return
        shutil.rmtree(self.fetched, ignore_errors=True)
        pom, source = (file for file, _ in self._files())
        maven = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies"]
        compiler = ["javac", "-cp", f"{self.fetched}/*", "-d", str(self.fetched), str(source)]
        for command in ([*maven, f"-DoutputDirectory={self.fetched}"], compiler):
            if subprocess.run(command).returncode:
                return
        for file, copied in self._files():  # last: they say that all the rest is there
            shutil.copyfile(file, copied)

    def _files(self) -> list[tuple[Path, Path]]:
        """Return the pom and the class's source, each with its copy beside what was made of it."""
        return [(self.folder / name, self.fetched / name) for name in ("pom.xml", f"{self.main}.java")]


@dataclass(frozen=True)
class CompiledProgram(Program):
    """A program from PyPI that is compiled for this Python, against its headers. So no environment has to have it.

    Args:
        requirements: What is installed, pinned.
        fetched: Where. `make clean` removes it.
    """

    requirements: Path = Path()
    fetched: Path = Path()

    def paths(self) -> tuple[str, ...]:
        """Return the paths of what it is compiled by and, once it is, of the program alone."""
        program = self.fetched / "bin" / self.title.lower()
        return (str(program),) if program.is_file() else super().paths()

    @property
    def missing(self) -> str | None:
        """Why a test that needs it can't run; None if it can."""
        installed = self.fetched / self.requirements.name
        if installed.is_file() and installed.read_bytes() == self.requirements.read_bytes():
            return None
        return super().missing or f"{self.title} is not installed (.venv/bin/python -m tools.programs)"

    def fetch(self) -> None:
        """Compile it, which takes half a minute of a processor. What fails shows in `missing`."""
        shutil.rmtree(self.fetched, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--target", str(self.fetched)]
        if subprocess.run([*pip, "--requirement", str(self.requirements)]).returncode == 0:
            shutil.copyfile(self.requirements, self.fetched / self.requirements.name)


CHROMIUM = Program(
    "Chromium", (("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),), ("chromium",)
)
MARIADB = Program(
    "MariaDB", (("mariadb",), ("mariadbd",), ("mariadb-install-db",)), ("mariadb-server-core", "mariadb-client-core")
)
POSTGRESQL = Program("PostgreSQL", (("psql",), ("postgres",), ("initdb",)), ("postgresql",))
MAKE = Program("make", (("make",),), ("make",), quick=True)
BROWSERS = ("lynx", "links", "elinks", "w3m")
CLIENTS = Program(
    "curl, Wget or a text browser", tuple((name,) for name in ("curl", "wget", *BROWSERS)), ("curl", "wget", *BROWSERS)
)
JAVA = Program("Java", (("java",), ("javac",)), ("default-jdk-headless",))
DYNAMODB_LOCAL = JavaProgram(
    "DynamoDB Local",
    (("java",), ("javac",), ("mvn",)),
    ("default-jdk-headless", "maven"),
    folder=TESTS / "dynamodb_local",
    main="OnLoopback",
    fetched=TESTS.parent / ".venv" / "dynamodb-local",
)
UWSGI = CompiledProgram(
    "uWSGI",
    (("gcc", "cc", "clang"),),
    ("gcc", "libc6-dev", "python3-dev"),
    requirements=TESTS / "client" / "requirements-uwsgi.txt",
    fetched=TESTS.parent / ".venv" / "uwsgi",
)
PROGRAMS = {
    "chromium": CHROMIUM,
    "mariadb": MARIADB,
    "postgresql": POSTGRESQL,
    "make": MAKE,
    "clients": CLIENTS,
    "java": JAVA,
    "dynamodb-local": DYNAMODB_LOCAL,
    "uwsgi": UWSGI,
}


def path(command: str) -> str | None:
    """Return where a command is, or None."""
    return shutil.which(command, path=os.pathsep.join((os.environ.get("PATH", ""), *SERVERS)))


def install(programs: list[Program]) -> str | None:
    """Install programs by apt.

    Returns:
        Why nothing was installed, or None. A package that apt refused shows in `Program.missing`.
    """
    if not shutil.which("apt-get"):
        return "there is no apt-get here"
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and not (shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True).returncode == 0):
        return "only root may install, and sudo needs a password or is missing"
    apt = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    subprocess.run([*apt, "update"])
    for program in programs:
        # Nothing that is installed is removed for a test, such as a MySQL server, which MariaDB's packages replace.
        subprocess.run([*apt, "install", "-y", "--no-remove", "--no-install-recommends", *program.packages])
    return None


def main() -> None:
    """Install what is missing, and print what stays so."""
    missing = [program for program in PROGRAMS.values() if program.missing]
    possible = [program for program in missing if not program.impossible]
    packages = [program for program in possible if not program.paths()]
    refused = install(packages) if packages else None
    if refused:
        print(f"not installed: {', '.join(program.title for program in packages)}: {refused}")
    for program in possible:
        program.fetch()
    for program in missing:
        if program.missing:
            print(f"{program.missing}: the tests that need it {'fail' if os.environ.get('CI') else 'are skipped'}")


if __name__ == "__main__":
    main()
