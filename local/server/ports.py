"""TCP ports of 127.0.0.1: which are free, and which process listens on one."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LISTEN = "0A"
"""The state of a listening socket in /proc/net/tcp (Linux, net/tcp_states.h)."""


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port.

    Raises:
        PermissionError: this user may listen on no port as low as this one.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise
        except OSError:
            return False
    return True


@contextmanager
def reserved(port: int = 0) -> Generator[int]:
    """Keep a port, by default any free one, until the server that is being started listens on it.

    Linux gives a bound port to nobody who asks for any. Several sockets with SO_REUSEADDR may be bound to it as long as
    none of them listens (socket(7)), and the servers here set that. On macOS they couldn't bind it then, so it is only
    chosen there.

    Raises:
        OSError: somebody listens on the port, or may use it only as root.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
        chosen = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield chosen


@dataclass(frozen=True)
class Listener:
    """A process that listens on a port."""

    pid: int
    command: str
    """Its command line."""
    folder: Path | None
    """Its working folder, if that is known. It may have been deleted since."""


def listener(port: int) -> Listener | None:
    """Return the process that listens on the port, or None where that can't be known (another user's process, say)."""
    pid = _pid_by_proc(port) if (PROC / "net" / "tcp").exists() else _pid_by_lsof(port)
    return Listener(pid, command_line(pid), working_folder(pid)) if pid else None


def has_socket(pid: int) -> bool:
    """Return whether a process has a socket open."""
    if not (PROC / "self").exists():
        return bool(_output("lsof", "-nP", "-a", "-p", str(pid), "-i", "-Fp"))  # macOS
    try:
        return any(str(file.readlink()).startswith("socket:") for file in (PROC / str(pid) / "fd").iterdir())
    except OSError:  # it has ended
        return False


def command_line(pid: int) -> str:
    """Return a process's command line, empty if there is no such process."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        if (PROC / "self").exists():
            return ""
    return _output("ps", "-p", str(pid), "-o", "args=").strip()  # macOS


def _pid_by_proc(port: int) -> int | None:
    sockets: set[str] = set()
    for table in (PROC / "net" / "tcp", PROC / "net" / "tcp6"):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local, _, state, *_ = fields = line.split()
            if state == LISTEN and int(local.rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    for file in PROC.glob("[0-9]*/fd/*"):
        try:
            if str(file.readlink()) in sockets:
                return int(file.parts[-3])
        except OSError:  # ended meanwhile, or of another user
            continue
    return None


def _pid_by_lsof(port: int) -> int | None:
    pids = re.findall(r"^p(\d+)", _output("lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fp"), re.MULTILINE)
    return int(pids[0]) if pids else None


def working_folder(pid: int) -> Path | None:
    """Return a process's working folder, under the name that it has now, or None where it can't be known."""
    try:
        return Path(str((PROC / str(pid) / "cwd").readlink()).removesuffix(" (deleted)"))
    except OSError:
        found = re.findall(r"^n(.+)", _output("lsof", "-a", "-p", str(pid), "-d", "cwd", "-Fn"), re.MULTILINE)
        return Path(found[0].removesuffix(" (deleted)")) if found else None


def _output(*command: str) -> str:
    """Return what a command prints, nothing if it isn't installed."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
