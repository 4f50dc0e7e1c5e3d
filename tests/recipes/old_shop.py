"""A shop whose orders have always had an AUTO_INCREMENT key, and those who insert them."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from tests.programs import MARIADB, path
from tests.recipes.recipe_page import Result

OLD_WRITERS = 2
INSERT = "INSERT INTO orders (item) VALUES ('old'); SELECT LAST_INSERT_ID()"


def program(name: str) -> str:
    """Return the path of one of MariaDB's programs."""
    found = path(name)
    assert found, MARIADB.missing
    return found


@dataclass(frozen=True)
class Shop:
    """The database of that name."""

    home: Path

    def asked(self, sql: str) -> Result:
        command = [program("mariadb"), "--batch", "--skip-column-names", "-e", sql]
        environment = {**os.environ, "HOME": str(self.home)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

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
        self.stop = Event()
        self.threads = [Thread(target=self.write) for _ in range(OLD_WRITERS)]

    def write(self) -> None:
        while not self.stop.is_set():
            result = self.shop.asked(f"USE shop; {INSERT}")
            if result.returncode:
                self.failures.append(result.stderr)
                return
            self.ids.append(int(result.stdout))

    def go_on(self) -> None:
        """Returns when they have inserted more since, and none has failed."""
        since = len(self.ids)
        while len(self.ids) < since + OLD_WRITERS:
            assert self.failures == []
            time.sleep(0.01)

    def all_have_failed(self) -> None:
        """Returns when every one has, for want of an id."""
        for thread in self.threads:
            thread.join(60)
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
