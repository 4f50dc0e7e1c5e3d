"""A MySQL sequence is moved over while old writers insert: on a real server."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.recipes.old_shop import INSERT, OldWriters, Shop, program
from tests.recipes.recipe_page import STRIDE, Run, blocks

pytestmark = pytest.mark.needs("mariadb")
TITLE = "Moving a MySQL sequence over"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A server of one's own, without network; the home of a user whose `mariadb` finds it."""
    folder = tmp_path_factory.mktemp("db")
    socket = folder / "s"
    as_root = ["--user=root"] if os.getuid() == 0 else []
    options = [f"--datadir={folder / 'data'}", *as_root]
    install = [program("mariadb-install-db"), "--no-defaults", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db", *options], check=True, capture_output=True, timeout=120)
    server = [program("mariadbd"), "--no-defaults", "--skip-networking", f"--socket={socket}", *options]
    with (folder / "log").open("w") as log, subprocess.Popen(server, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + 60
            while not socket.exists():
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            (folder / ".my.cnf").write_text(f"[client]\nsocket={socket}\nuser=root\n")
            yield folder
        finally:
            process.terminate()
    assert process.returncode == 0


@pytest.fixture
def shop(home: Path) -> Shop:
    """With 1,000 orders, of which the last three have been deleted."""
    shop = Shop(home)
    assert shop.asked("DROP DATABASE IF EXISTS shop; CREATE DATABASE shop").returncode == 0
    shop("CREATE TABLE orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, item TEXT NOT NULL)")
    shop(f"INSERT INTO orders (item) VALUES {', '.join(['(1)'] * 1000)}; DELETE FROM orders WHERE id > 997")
    return shop


Move = Callable[[str], str]


@pytest.fixture
def move(run: Run, home: Path) -> Move:
    """`move("deploy")`: one step of the page, as a user carries it out. Returns what it printed."""
    choose, pulumi, deploy, end, insert, verify = (code for _, code in blocks(TITLE))
    assert settings(pulumi) == {"counters[0]": "integers", "counters[1]": "orders", "floors.orders": "$floor"}
    steps = {"choose": choose, "deploy": deploy, "end": end, "insert": insert, "verify": verify}
    floor: list[str] = []

    def step(name: str) -> str:
        result = run("sh", steps[name], cwd=ROOT, HOME=str(home), floor=floor[-1] if floor else "")
        assert result.returncode == 0, result.stderr
        if name == "choose":
            floor.append(result.stdout.strip())
        return result.stdout.strip()

    return step


def settings(block: str) -> dict[str, str]:
    """What `pulumi config set --path` sets in it."""
    commands = [shlex.split(line) for line in block.splitlines()]
    assert commands[-1] == ["pulumi", "up"]
    assert all(command[:4] == ["pulumi", "config", "set", "--path"] for command in commands[:-1])
    return {command[4]: command[5] for command in commands[:-1]}


def test_old_and_new_rows_never_meet(move: Move, shop: Shop) -> None:
    with OldWriters(shop) as old:
        floor = int(move("choose"))
        move("deploy")
        old.go_on()
        assert move("end") == "go on"
        for _ in range(3):
            move("insert")
        old.all_have_failed()

    ids = [int(line) for line in shop("SELECT id FROM orders ORDER BY id").split()]
    before, minted = ids[:-3], ids[-3:]
    assert before == [*range(1, 998), *sorted(old.ids)]
    assert before[-1] < floor <= minted[0]
    assert minted == [minted[0], minted[0] + STRIDE, minted[0] + 2 * STRIDE]
    verified = [line.split("\t") for line in move("verify").splitlines()]
    assert verified == [
        ["old", "COUNT(*)", "MIN(id)", "MAX(id)"],
        ["0", "3", str(minted[0]), str(minted[-1])],
        ["1", str(len(before)), "1", str(before[-1])],
    ]


def test_old_writers_that_were_faster_than_thought_are_noticed(move: Move, shop: Shop) -> None:
    first = int(move("choose"))
    assert first == 1001 + 1_000_000, "counts the deleted rows too"
    shop(f"ALTER TABLE orders AUTO_INCREMENT = {first + 5}; {INSERT}; {INSERT}")

    assert move("end") == "choose a higher floor"
    second = int(move("choose"))
    assert second == first + 7 + 1_000_000
    move("deploy")
    move("insert")

    assert int(shop("SELECT MAX(id) FROM orders")) >= second


@pytest.mark.parametrize("mode", ["", "STRICT_ALL_TABLES"])
def test_an_old_writer_inserts_nothing_once_the_sequence_has_ended(mode: str, move: Move, shop: Shop) -> None:
    move("choose")
    move("end")

    refused = shop.asked(f"USE shop; SET sql_mode = '{mode}'; {INSERT}")

    assert refused.returncode == 1
    assert "minted" in refused.stderr or "doesn't have a default value" in refused.stderr
    assert shop("SELECT MIN(id), COUNT(*) FROM orders").split() == ["1", "997"]


def test_without_its_end_the_sequence_would_go_on_among_the_minted(shop: Shop) -> None:
    shop(f"INSERT INTO orders (id, item) VALUES (5000000, 'minted'); {INSERT}")

    assert int(shop("SELECT MAX(id) FROM orders")) == 5000001
