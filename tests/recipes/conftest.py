"""A deployment to run the recipes against, as a user does."""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from local.paths import ROOT
from proof.faulty_server import Fault, Server, forward
from tests.docs.pages import blocks, section
from tests.local.machine import Machine

REGION = "eu-west-1"
"""The page's."""

STRIDE = 3
"""Of the deployment."""

HANG = 240.0
"""Seconds after which a test gives up: ten times what a machine with several busy processes on each core needs."""

Result = subprocess.CompletedProcess[str]

INTERPRETERS = {
    "sh": ["sh", "-euc"],
    "bash": ["bash", "-euo", "pipefail", "-c"],
    "python": [sys.executable, "-c"],
}


def recipe(title: str, name: str = "recipes.md") -> list[tuple[str, str]]:
    """Return the language and the code of each block under a heading."""
    return [(language, code) for language, code in blocks(section(name, title))]


SET_UP, PREPARE = (code for _, code in recipe("On one machine"))


@dataclass(frozen=True)
class User:
    """Somebody who runs blocks of the pages, in a folder and with these variables."""

    machine: Machine
    folder: Path
    environment: Mapping[str, str]

    def start(self, language: str, code: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*INTERPRETERS[language], code.replace(".venv/bin/python", sys.executable)],
            env={**self.environment, **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, language: str, code: str, **environment: str) -> Result:
        with self.start(language, code, **environment) as process:
            out, err = process.communicate(timeout=HANG)
        return Result(code, process.returncode, out, err)

    def output(self, language: str, code: str, **environment: str) -> str:
        """Run a block that must succeed. Returns what it prints."""
        result = self.run(language, code, **environment)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def faulty(self, *faults: Fault) -> Server:
        """Return a server before the local one, with these faults."""
        return Server(partial(forward, self.machine.endpoint), faults)


@pytest.fixture(scope="session")
def nothing_runs(tmp_path_factory: pytest.TempPathFactory) -> Generator[User]:
    """A user of a machine on which nothing runs yet, without AWS in the environment."""
    machine = Machine(tmp_path_factory.mktemp("recipes"))
    inherited = {name: value for name, value in machine.environment.items() if not name.startswith("AWS_")}
    own = {
        "HOME": str(machine.folder),
        "NO_PROXY": "127.0.0.1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'client' / 'src'}",
    }
    yield User(machine, machine.folder, {**inherited, **own})
    machine.end()


@pytest.fixture(scope="session")
def readme(nothing_runs: User) -> str:
    """What the README's lines print that deploy without make, and mint. They get a port."""
    deploy = recipe("Without make", "../README.md")[0][1].splitlines()[1]
    (_, install), (_, program), (_, use) = recipe("Use it", "../README.md")
    shown = re.sub(r"^(integers\.next.*\))  #", r"print(\1)  #", program, flags=re.MULTILINE)
    shown = shown.replace("(lease", '(prefer="us-east-1", lease')  # which is the nearest differs from run to run
    lines = [
        deploy.replace("local up", f"local up --port {nothing_runs.machine.wanted_port}"),
        *install.splitlines()[1:],
        f".venv/bin/python - <<'END'\n{shown}END",
        use.replace("curl", "curl -sS"),
    ]
    return nothing_runs.output("bash", "\n".join(lines))


@pytest.fixture(scope="session")
def set_up(nothing_runs: User, readme: str) -> User:
    """After the page's set-up."""
    variables = nothing_runs.output("bash", f"{SET_UP}env -0").rpartition("local down\n")[2].split("\0")[:-1]
    return User(nothing_runs.machine, nothing_runs.folder, dict(line.split("=", 1) for line in variables))


@pytest.fixture
def user(set_up: User, tmp_path: Path) -> User:
    """After the page's set-up, in a folder of the test's own."""
    return User(set_up.machine, tmp_path, set_up.environment)


@pytest.fixture
def url(user: User) -> str:
    """The URL of the page's region."""
    return user.environment["URL"]
