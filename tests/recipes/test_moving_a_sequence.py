"""A MySQL sequence is moved over while old writers insert: on a real server."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from machine import Machine

Query = Callable[[str], str]


def program(name: str) -> str:
    """Its path; Debian keeps servers where only root looks."""
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    assert found, f"{name} is not installed; on Debian and Ubuntu: make packages"
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A server of one's own, without network; the home of a user whose `mysql` finds it."""
    folder = tmp_path_factory.mktemp("db")
    socket = folder / "s"
    as_root = ["--user=root"] if os.getuid() == 0 else []
    options = [f"--datadir={folder / 'data'}", *as_root]
    install = [program("mariadb-install-db"), "--no-defaults", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db", *options], check=True, capture_output=True)
    server = [program("mariadbd"), "--no-defaults", "--skip-networking", f"--socket={socket}", *options]
    with (folder / "log").open("w") as log, subprocess.Popen(server, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + 60
            while not socket.exists():
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            (folder / ".my.cnf").write_text(f"[client]\nsocket={socket}\nuser=root\n")
            yield folder
        finally:
            process.terminate()


@pytest.fixture
def query(home: Path) -> Query:
    def query(sql: str) -> str:
        command = [program("mysql"), "--batch", "--skip-column-names", "-e", sql]
        environment = {**os.environ, "HOME": str(home)}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return query


def test_old_and_new_rows_never_meet(recipe: Any, run: Any, machine: Machine, query: Query, home: Path) -> None:
    read, deploy, alter, insert = (code for _, code in recipe("Moving a MySQL sequence over"))
    query("CREATE DATABASE shop; CREATE TABLE shop.orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, item TEXT NOT NULL)")
    query(many(1000))
    old = Writer(query)
    with old:
        largest = run("sh", read, HOME=str(home))
        assert largest.returncode == 0, largest.stderr
        floor = int(largest.stdout)
        assert floor > 1_001_000
        assert re.search(r"floors\.orders", deploy)
        up = machine.up(
            settings=('counters=["integers", "orders"]', f"floors={json.dumps({'orders': floor})}")
        )  # `pulumi up`, here
        assert up.returncode == 0, up.stderr
        written = old.written
        while old.written == written:  # still at work
            assert old.failure is None
        query(f"USE shop; {alter}")
        for _ in range(3):
            result = run("sh", insert, HOME=str(home))
            assert result.returncode == 0, result.stderr
    assert "doesn't have a default value" in str(old.failure)

    ids = [int(line) for line in query("SELECT id FROM shop.orders ORDER BY id").split()]
    minted = ids[-3:]
    assert len(ids) == 1000 + old.written + 3
    assert ids[-4] < floor <= minted[0]
    assert minted == [minted[0], minted[0] + 3, minted[0] + 6]


def many(count: int) -> str:
    return f"INSERT INTO shop.orders (item) VALUES {', '.join(['(1)'] * count)}"


class Writer:
    """Inserts as it always has, until that fails."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.written = 0
        self.failure: AssertionError | None = None
        self.ended = Event()
        self.thread = Thread(target=self.write)

    def write(self) -> None:
        while self.failure is None and not self.ended.is_set():
            try:
                self.query("INSERT INTO shop.orders (item) VALUES ('old')")
                self.written += 1
            except AssertionError as error:
                self.failure = error

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
