"""Processes that outlive the command that started them: their start, their records, their end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..paths import ROOT, VERSION, LocalError, command, state_folder
from ..terminal import uninterrupted
from .ports import command_line, is_free, reserved, working_folder

START_TIMEOUT = 120
"""Seconds until it answers. It takes one or two, and ten times as long on a machine that is busy."""

SILENT = 10
"""Seconds after which whoever waits is told what for."""

END_TIMEOUT = 10
"""Seconds to end after each signal."""

_children: list[subprocess.Popen[bytes]] = []
"""Kept, since they outlive this process on purpose: Python warns of a forgotten one."""


@dataclass(frozen=True)
class BackgroundService:
    """A kind of process of which one runs at a time in a state folder, which is its working folder."""

    name: str
    mark: str
    """A part of its command line, which tells it from a later process with the same number."""

    @property
    def record(self) -> Path:
        """The file that says where it runs."""
        return state_folder() / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The file with what it prints."""
        return state_folder() / f"{self.name}.log"

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], port: int) -> subprocess.Popen[bytes]:
        """Start it in the state folder, in a session of its own, and record where it is."""
        with self.log.open("w") as log, uninterrupted(self.name):  # a process without a record would never be ended
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=state_folder(),
                env=environment,
                start_new_session=True,  # Ctrl-C at `up` is not for it
            )
            fresh = self.record.with_suffix(".new")
            fresh.write_text(json.dumps({"pid": process.pid, "port": port, "version": VERSION}))
            fresh.replace(self.record)
        _children.append(process)
        while process.poll() is None and not self.alive(process.pid):
            time.sleep(0.001)  # its command line is empty for an instant
        return process

    def comes_up(self, pid: int, answers: Callable[[], bool]) -> bool:
        """Wait until it answers. Return False if it ends instead, or doesn't answer for `START_TIMEOUT` seconds."""
        began, said = time.monotonic(), False
        while not answers():
            waited = time.monotonic() - began
            if not self.alive(pid) or waited > START_TIMEOUT:
                return False
            if waited > SILENT and not said:
                print(f"the {self.name} (process {pid}) is busy; waiting for it", file=sys.stderr, flush=True)
                said = True
            time.sleep(0.05)
        return True

    def start_module(
        self, arguments: Sequence[str], answers: Callable[[int], bool], what: str, more: Mapping[str, str] | None = None
    ) -> int:
        """Start this project's module `mark`, ending one that runs, on its port if that is free. Return its port.

        Args:
            arguments: of its command line, after the port.
            answers: returns whether it answers at a port.
            what: what it is for, in an error.
            more: further environment variables.

        Raises:
            LocalError: it doesn't come up.
        """
        recorded = self.recorded()
        self.stop()
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(state_folder()),
            "AWS_EC2_METADATA_DISABLED": "true",
            **(more or {}),
        }
        with reserved(recorded[1] if recorded and is_free(recorded[1]) else 0) as port:
            process = self.start([sys.executable, "-m", self.mark, str(port), *arguments], environment, port)
            if not self.comes_up(process.pid, lambda: answers(port)):
                self.stop()
                raise LocalError(f"the process that {what} does not come up.\n{self.log_end()}")
        return port

    def recorded(self) -> tuple[int, int] | None:
        """Return process and port of the last one started and not ended, running or not.

        Raises:
            LocalError: the record is damaged.
        """
        try:
            record = json.loads(self.record.read_text())
            return int(record["pid"]), int(record["port"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise LocalError(
                f"{self.record} is damaged ({error}), so the {self.name}'s process is not known. End it by hand if it "
                f"runs ({self.mark} is in its command line), delete that file, then: {command('down')}"
            ) from error

    def runs(self) -> bool:
        """Return whether the recorded process runs."""
        recorded = self.recorded()
        return recorded is not None and self.alive(recorded[0])

    def version(self) -> int:
        """Return the version (`paths.VERSION`) that started the recorded process."""
        return int(json.loads(self.record.read_text()).get("version", 1))

    def alive(self, pid: int) -> bool:
        """Return whether the process runs and is this one.

        After a reboot, another process may have its number. A record that was copied from another state folder
        names that folder's process, which works there.
        """
        return not _is_zombie(pid) and self.mark in command_line(pid) and _works_here(pid)

    def stop(self) -> bool:
        """End it and what it started. Return False if it didn't run."""
        recorded = self.recorded()
        if recorded is None:
            return False
        pid, _ = recorded
        running = self.alive(pid)
        if running:
            for sign in (signal.SIGTERM, signal.SIGKILL):  # it leads a group, and what it started belongs to that
                try:
                    os.killpg(pid, sign)
                except (ProcessLookupError, PermissionError):
                    break
                self._wait_for_end(pid)
            for child in _children:
                if child.pid == pid:
                    child.wait()
        self.record.unlink(missing_ok=True)
        return running

    def _wait_for_end(self, pid: int) -> None:
        deadline = time.monotonic() + END_TIMEOUT
        while self.alive(pid) and time.monotonic() < deadline:
            time.sleep(0.02)

    def log_end(self, lines: int = 15) -> str:
        """Return the end of its log, with the log's path."""
        try:
            end = self.log.read_text(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return "There is no log."
        return "\n".join(
            [f"The end of {self.log}:", *(f"  {line}" for line in end)] if end else [f"{self.log} is empty."]
        )


def _works_here(pid: int) -> bool:
    """Return whether its working folder is the state folder, as far as that can be known."""
    return working_folder(pid) in (None, state_folder().resolve())


def _is_zombie(pid: int) -> bool:
    """Return whether it has ended, but its parent (this process, in the tests) hasn't asked for its status yet."""
    return any(child.pid == pid and child.poll() is not None for child in _children)
