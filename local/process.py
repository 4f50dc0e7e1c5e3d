"""Processes that outlive the command that started them: their records, and their end."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .paths import VERSION, LocalError, state_folder

END_TIMEOUT = 10
"""Seconds to end after each signal."""

_children: list[subprocess.Popen[bytes]] = []
"""Kept, since they outlive this process on purpose: Python warns of a forgotten one."""


@dataclass(frozen=True)
class Service:
    """A kind of process of which one runs at a time. `mark` is what its command line has in it."""

    name: str
    mark: str

    @property
    def record(self) -> Path:
        return state_folder() / f"{self.name}.json"

    @property
    def log(self) -> Path:
        return state_folder() / f"{self.name}.log"

    def start(self, command: Sequence[str], environment: Mapping[str, str], port: int) -> subprocess.Popen[bytes]:
        """Start it in the state folder, in a session of its own, and write down where it is."""
        with self.log.open("w") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=state_folder(),
                env=environment,
                start_new_session=True,  # Ctrl-C at `up` is not for it
            )
        _children.append(process)
        fresh = self.record.with_suffix(".new")
        fresh.write_text(json.dumps({"pid": process.pid, "port": port, "version": VERSION}))
        fresh.replace(self.record)
        return process

    def recorded(self) -> tuple[int, int] | None:
        """Process and port of the last one started and not ended, running or not."""
        try:
            record = json.loads(self.record.read_text())
            return int(record["pid"]), int(record["port"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise LocalError(
                f"{self.record} is damaged ({error}), so the {self.name}'s process is not known. End it by hand if it "
                f"runs (it is called {self.mark}), delete that file, then: python -m local down"
            ) from error

    def version(self) -> int:
        """Return the version (`paths.VERSION`) that started the recorded process."""
        return int(json.loads(self.record.read_text()).get("version", 1))

    def alive(self, pid: int) -> bool:
        """Is the process there, and still this one? A number is given out again, after a reboot say."""
        return not _is_zombie(pid) and self.mark in _command(pid)

    def stop(self) -> bool:
        """End it and what belongs to it. False: none was running."""
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
        """The end of its log, with its path."""
        try:
            end = self.log.read_text(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return "There is no log."
        return "\n".join(
            [f"The end of {self.log}:", *(f"  {line}" for line in end)] if end else [f"{self.log} is empty."]
        )


def _is_zombie(pid: int) -> bool:
    """Ended, but its parent (this very process, in the tests) has not asked for its status yet."""
    return any(child.pid == pid and child.poll() is not None for child in _children)


def _command(pid: int) -> str:
    """The process's command line, empty if there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
    shown = subprocess.run(["ps", "-p", str(pid), "-o", "args="], capture_output=True, text=True, check=False)  # macOS
    return shown.stdout
