"""A shop whose orders have always had an AUTO_INCREMENT key, its database server, and those who insert orders."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Event, Thread

from tests.recipes.recipe_page import HANG, Result
from tools.programs import MARIADB, path

OLD_WRITERS = 2
INSERT = "INSERT INTO orders (item) VALUES ('old'); SELECT LAST_INSERT_ID()"


def program(name: str) -> str:
    """Return the path of one of MariaDB's programs."""
    found = path(name)
    assert found, MARIADB.missing
    return found


@contextmanager
def server_in(folder: Path) -> Generator[None]:
    """Run a server without network. The folder is the home of a user whose `mariadb` finds it."""
    as_root = ["--user=root"] if os.getuid() == 0 else []
    options = [f"--datadir={folder / 'data'}", *as_root]
    install = [program("mariadb-install-db"), "--no-defaults", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db", *options], check=True, capture_output=True, timeout=HANG)
    (folder / ".my.cnf").write_text(f"[client]\nsocket={folder / 's'}\nuser=root\n")
    server = [program("mariadbd"), "--no-defaults", "--skip-networking", f"--socket={folder / 's'}", *options]
    with subprocess.Popen(server, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if "ready for connections" in line:  # what it says later fits into the pipe
                break
        else:
            raise AssertionError("".join(said))
        try:
            yield
        finally:
            process.terminate()
            process.communicate()
    assert process.returncode == 0


@dataclass(frozen=True)
class Shop:
    """The database of that name."""

    home: Path

    def asked(self, sql: str) -> Result:
        command = [program("mariadb"), "--batch", "--skip-column-names", "-e", sql]
        environment = {**os.environ, "HOME": str(self.home)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG)

    def __call__(self, sql: str) -> str:
        result = self.asked(f"USE shop; {sql}")
        assert result.returncode == 0, result.stderr
        return result.stdout


class OldWriters:
    """They insert as they always have, until that fails or the test ends."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.ids: list[int] = []
        self.failures: list[str] = []
        self.more = Condition()
        self.stop = Event()
        self.threads = [Thread(target=self.write) for _ in range(OLD_WRITERS)]

    def write(self) -> None:
        while not self.stop.wait(0.05):  # a steady load, which leaves the machine to others
            result = self.shop.asked(f"USE shop; {INSERT}")
            with self.more:
                self.more.notify_all()
                if result.returncode:
                    self.failures.append(result.stderr)
                    return
                self.ids.append(int(result.stdout))

    def go_on(self) -> None:
        """Return when they have inserted more since, and none has failed."""
        with self.more:
            enough = len(self.ids) + OLD_WRITERS
            assert self.more.wait_for(lambda: self.failures or len(self.ids) >= enough, HANG)
        assert self.failures == []

    def all_have_failed(self) -> None:
        """Return when every one has, for want of an id."""
        for thread in self.threads:
            thread.join(HANG)
        assert len(self.failures) == OLD_WRITERS
        assert all("doesn't have a default value" in failure for failure in self.failures), self.failures

    def __enter__(self) -> "OldWriters":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()
