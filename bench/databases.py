"""A database server on this machine, for comparison."""

import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian puts mariadbd into /usr/sbin, which is often not in a user's PATH."""


@contextmanager
def mariadb(folder: Path) -> Generator[str]:
    """Run MariaDB with an empty table `bench.ids`, and yield its socket. Without MariaDB, yield an empty string."""
    programs = [shutil.which(name, path=PATHS) for name in ("mariadb-install-db", "mariadbd", "mariadb")]
    if None in programs:
        print("MariaDB is not installed, and is left out; apt-get install mariadb-server-core mariadb-client-core")
        yield ""
        return
    install, server, client = (str(program) for program in programs)
    folder.mkdir()
    socket = folder / "socket"
    options = [f"--datadir={folder / 'data'}", "--user=root"]
    assert _runs(install, "--no-defaults", "--auth-root-authentication-method=normal", *options)
    command = [server, "--no-defaults", "--skip-networking", f"--socket={socket}", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            create = "CREATE DATABASE bench; CREATE TABLE bench.ids (id BIGINT AUTO_INCREMENT PRIMARY KEY)"
            ask = [client, "--no-defaults", f"--socket={socket}", "--user=root", "-e"]
            deadline = time.monotonic() + 60
            while not _runs(*ask, "SELECT 1"):
                if time.monotonic() > deadline:
                    raise SystemExit("MariaDB did not start within a minute")
                time.sleep(0.2)
            assert _runs(*ask, create)
            yield str(socket)
        finally:
            process.terminate()


def _runs(*command: str) -> bool:
    return not subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
