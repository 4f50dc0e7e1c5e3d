"""Moving in: every step of the page, run as it stands there, on the local server and on real databases."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from local.aws_clients import Aws
from tests.docs.pages import blocks, deployments, section
from tests.local.machine import mint
from tests.recipes.conftest import HANG, REGION, User
from tools.programs import MARIADB, POSTGRESQL

PAGE = "moving.md"
DYNAMODB = section(PAGE, "From an atomic counter in DynamoDB")
DATABASES = section(PAGE, "From a sequence or a ticket table")
(_, TUTORIAL), (_, PROGRAM) = blocks(DYNAMODB, "python")
OUTPUTS, DUAL_RUN, CHOOSE, DEPLOY, CHECK, END, BACK = (code for _, code in blocks(DYNAMODB, "sh"))
BOUND, UNBOUND, COUNT, CLOSE, REOPEN = (code for _, code in blocks(DATABASES, "sh"))
FLOOR = CHOOSE.splitlines()[0]
"""Without the commands for AWS, whose settings are compared with those of one machine."""

SHIM = """#!{python}
from global_integers import command_line

command_line.sleep = lambda seconds: None  # nothing is leased here
raise SystemExit(command_line.main())
"""


class Owner:
    """The owner of an old counter, who moves it as the page says."""

    def __init__(self, user: User, **environment: str) -> None:
        self.user = user
        self.environment = environment

    def run(self, code: str, **variables: str) -> str:
        """Carry out a step. Returns what it prints."""
        return self.user.output("sh", code, **(self.environment | variables)).strip()

    def floor(self, code: str) -> None:
        """Choose a floor as the page does, and deploy it."""
        self.environment["floor"] = self.run(f'{code}\necho "$floor"').splitlines()[-1]
        self.run(DEPLOY)

    @property
    def number(self) -> int:
        """The floor."""
        return int(self.environment["floor"])


def test_the_settings_of_the_move_are_those_of_its_local_up() -> None:
    assert list(deployments(DYNAMODB)) == [{"floors": {"orders": "$floor"}}]
    assert '-c "floors={\\"orders\\": $floor}"\n' in DEPLOY


@pytest.fixture
def owner(user: User) -> Generator[Owner]:
    """Of an atomic counter that is at 17."""
    (user.folder / "order_numbers.py").write_text(PROGRAM)
    command = user.folder / "global-integers"
    command.write_text(SHIM.format(python=sys.executable))
    command.chmod(0o755)
    (user.folder / "tutorial.py").write_text(TUTORIAL)
    path = f"{user.folder}{os.pathsep}{user.environment['PATH']}"
    made = Owner(user, PATH=path)
    made.run(".venv/bin/python tutorial.py")
    made.environment["GLOBAL_INTEGERS_URLS"] = made.run(f'{OUTPUTS}echo "$GLOBAL_INTEGERS_URLS"')
    yield made
    Aws(user.machine.endpoint).client("dynamodb", REGION).delete_table(TableName="atomic-counters")


NEXT = DUAL_RUN.replace("NUMBERS=both ", "")


@pytest.mark.long
def test_an_atomic_counter_is_moved_and_back(owner: Owner, url: str) -> None:
    assert owner.run(NEXT) == "18", "as before"
    before = mint(url, "orders")[1]["integer"]
    assert owner.run(DUAL_RUN) == "19"
    nowhere = json.dumps({REGION: "http://127.0.0.1:9/"})
    assert owner.run(NEXT, NUMBERS="both", GLOBAL_INTEGERS_URLS=nowhere) == "20"
    early = owner.user.run("sh", CHECK, **owner.environment, floor=str(before + 1_000_000))
    assert (early.returncode, "Set a floor" in early.stdout) == (1, True), early.stdout

    owner.floor(FLOOR)
    assert owner.number >= 21 + 1_000_000
    assert owner.run(CHECK) == f"orders: nobody gets an integer up to {owner.number - 1} any more"
    switched = [int(owner.run(NEXT, NUMBERS="new")) for _ in range(2)]
    assert owner.run(NEXT) == "22", "a writer that isn't switched yet"
    assert min(switched) >= owner.number
    assert owner.run(END) == "22"
    assert owner.user.run("sh", NEXT, **owner.environment).returncode != 0, "and not 1"

    owner.run(BACK)
    assert int(owner.run(NEXT)) > max(switched)


@pytest.mark.long
def test_the_way_back_waits_for_all_regions(owner: Owner) -> None:
    owner.run(END)
    urls = json.loads((owner.user.folder / "outputs.json").read_text())["urls"] | {REGION: "http://127.0.0.1:9/"}
    (owner.user.folder / "outputs.json").write_text(json.dumps({"urls": urls}))
    assert owner.user.run("sh", BACK, **owner.environment).returncode != 0
    assert owner.user.run("sh", NEXT, **owner.environment).returncode != 0


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a user whose `mariadb` finds a server, which has no network."""
    folder = tmp_path_factory.mktemp("db")
    options = [f"--datadir={folder / 'data'}", *(["--user=root"] if os.getuid() == 0 else [])]
    _, daemon, installer = MARIADB.paths()
    install = [installer, "--no-defaults", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db", *options], check=True, capture_output=True, timeout=HANG)
    (folder / ".my.cnf").write_text(f"[client]\nsocket={folder / 's'}\nuser=root\n")
    command = [daemon, "--no-defaults", "--skip-networking", f"--socket={folder / 's'}", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        said = ""
        while "ready for connections" not in said:  # what it says later fits into the pipe
            line = server.stderr.readline()
            assert line, said
            said += line
        yield folder
        server.terminate()


class Database(Owner):
    """A database whose numbers are moved."""

    def __init__(self, user: User, home: Path, table: str) -> None:
        super().__init__(user, HOME=str(home), table=table)

    def sql(self, statements: str, database: str = "shop") -> str:
        """Return what statements print."""
        return self.run(
            'mariadb --batch --skip-column-names -D "$DATABASE" -e "$SQL"', SQL=statements, DATABASE=database
        )


def without_table(code: str) -> str:
    """Return a block that takes the table from the environment."""
    return code.replace("table=orders\n", "")


INSERT = "INSERT INTO orders (item) VALUES ('old')"
TICKET = "REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()"
"""As Flickr's engineers have described it ("Ticket Servers: Distributed Unique Primary Keys on the Cheap", 2010)."""


@pytest.fixture
def shop(user: User, home: Path) -> Database:
    """With 1,000 orders, of which the last three have been deleted, and a ticket table."""
    shop = Database(user, home, "orders")
    shop.sql("DROP DATABASE IF EXISTS shop; CREATE DATABASE shop", "mysql")
    shop.sql("CREATE TABLE orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, item TEXT NOT NULL)")
    shop.sql(f"INSERT INTO orders (item) VALUES {', '.join(['(1)'] * 1000)}; DELETE FROM orders WHERE id > 997")
    columns = "id bigint(20) unsigned NOT NULL auto_increment, stub char(1) NOT NULL default ''"
    shop.sql(f"CREATE TABLE Tickets64 ({columns}, PRIMARY KEY (id), UNIQUE KEY stub (stub))")
    return shop


@pytest.mark.needs("mariadb")
def test_old_and_new_rows_never_meet(shop: Database, url: str) -> None:
    shop.sql(INSERT)
    shop.floor(COUNT)
    shop.sql(INSERT)
    assert shop.run(CLOSE) == "go on"
    for mode in ("", "STRICT_ALL_TABLES"):
        with pytest.raises(AssertionError, match=r"minted|doesn't have a default value"):
            shop.sql(f"SET sql_mode = '{mode}'; {INSERT}")
    first, second = (mint(url, "orders")[1]["integer"] for _ in range(2))
    shop.sql(f"INSERT INTO orders (id, item) VALUES ({first}, 'new'), ({second}, 'new')")

    *before, _, last = map(int, shop.sql("SELECT id FROM orders ORDER BY id").split())
    assert before == [*range(1, 998), 1001, 1002]
    assert before[-1] < shop.number <= first < second == last
    shop.run(REOPEN, last=str(last + 100))
    shop.sql(INSERT)
    assert int(shop.sql("SELECT MAX(id) FROM orders")) == last + 101


@pytest.mark.needs("mariadb")
def test_old_writers_faster_than_thought_are_noticed(shop: Database) -> None:
    shop.floor(COUNT)
    assert shop.number == 1001 + 1_000_000, "counts the deleted rows too"
    shop.sql(f"ALTER TABLE orders AUTO_INCREMENT = {shop.number + 5}; {INSERT}; {INSERT}")

    assert shop.run(CLOSE) == "choose a higher floor"
    assert int(shop.run(f'{COUNT}echo "$floor"')) == shop.number + 7 + 1_000_000


@pytest.mark.needs("mariadb")
def test_a_ticket_table_is_closed_and_opened_again(shop: Database, url: str) -> None:
    tickets = Database(shop.user, Path(shop.environment["HOME"]), "Tickets64")
    assert [tickets.sql(TICKET) for _ in range(3)] == ["1", "2", "3"]
    tickets.floor(without_table(COUNT))
    assert tickets.sql(TICKET) == "4"
    assert tickets.run(CLOSE) == "go on"
    for mode in ("", "STRICT_ALL_TABLES"):
        with pytest.raises(AssertionError, match=r"minted|doesn't have a default value"):
            tickets.sql(f"SET sql_mode = '{mode}'; {TICKET}")
    last = mint(url, "orders")[1]["integer"]

    assert last >= tickets.number
    tickets.run(REOPEN, last=str(last))
    assert tickets.sql(TICKET) == str(last + 1)


@pytest.fixture
def postgres() -> Generator[dict[str, str]]:
    """Where `psql` finds a server without a network, which another user runs: it refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    other = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    os.chown(folder, other.pw_uid, other.pw_gid)
    _, daemon, installer = POSTGRESQL.paths()
    data = str(folder / "data")

    def start(*command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(command, user=other.pw_uid, cwd=folder, stderr=subprocess.PIPE, text=True)

    with start(installer, "--no-sync", "--auth=trust", f"--username={other.pw_name}", f"--pgdata={data}") as made:
        _, said = made.communicate(timeout=HANG)
        assert made.returncode == 0, said
    with start(daemon, "-D", data, "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off") as server:
        assert server.stderr
        while "ready to accept connections" not in (line := server.stderr.readline()):
            assert line
        yield {"PGHOST": str(folder), "PGUSER": other.pw_name, "PGDATABASE": "postgres"}
        server.terminate()
        server.communicate(timeout=HANG)
    shutil.rmtree(folder)


@pytest.mark.needs("postgresql")
def test_a_sequence_cannot_pass_the_floor(user: User, postgres: dict[str, str], url: str) -> None:
    owner = Owner(user, **postgres)
    owner.run("psql -qc 'CREATE SEQUENCE order_numbers START 17 CACHE 20'")
    following = "psql -Atc \"SELECT nextval('order_numbers')\""
    owner.floor(BOUND)
    assert owner.number == 17 + 1_000_000
    owner.run(f"""psql -qAtc "SELECT setval('order_numbers', {owner.number - 2})" """)
    assert int(owner.run(following)) == owner.number - 1
    with pytest.raises(AssertionError, match="reached maximum value of sequence"):
        owner.run(following)
    last = mint(url, "orders")[1]["integer"]

    assert last >= owner.number
    owner.run(UNBOUND, last=str(last))
    assert int(owner.run(following)) == last + 1
    nothing = owner.user.run("sh", UNBOUND, **owner.environment)
    assert (nothing.returncode, "last" in nothing.stderr) == (2, True), "it doesn't begin at 1"
