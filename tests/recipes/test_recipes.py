"""Every recipe does what it says: run as it stands on the page, after its set-up, on a server and a real database."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from global_integers import Integers, UnknownCounter
from global_integers.testing import Stack
from mint.grants import FUTURE

from global_integers_core.records import ASKED_KEY
from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.machine import Machine, mint
from tests.recipes.conftest import as_a_new_user
from tests.recipes.old_shop import INSERT, OldWriters, Shop, server_in
from tests.recipes.recipe_page import HANG, PREPARE, SET_UP, STRIDE, Client, Result, Run, Start, Table, blocks
from tests.recipes.relay import Call, Relay

KEY = "An auto-increment primary key for a DynamoDB table"
CONSUMER = "An idempotent SQS consumer"
Consume = Callable[[], "subprocess.Popen[str]"]
"""Starts the recipe's consumer."""


@pytest.fixture
def nothing_left(aws: Client) -> Generator[None]:
    """Remove what the set-up creates."""
    yield
    for table in ("orders", "invoices"):
        aws("dynamodb").delete_table(TableName=table)
    aws("sqs").delete_queue(QueueUrl=aws("sqs").get_queue_url(QueueName="orders")["QueueUrl"])


@pytest.mark.server
def test_the_readmes_commands_deploy_and_mint(readme: Result) -> None:
    install, _, test = blocks("Without make", "README.md")[0][1].splitlines()
    _, (_, program), (_, use) = blocks("Use it", "README.md")
    (first,) = map(int, re.findall(r"# such as (\d+)", program))
    shown = re.findall("# ({.*})", use)
    printed = readme.stdout.rpartition("local down\n")[2]

    assert printed.splitlines()[:2] == [str(first), str(first + 1)], "the lease's next two"
    assert re.findall(r"\{.*?\}", printed)[0] == shown[0]
    assert len(re.findall(r"\{.*?\}", printed)) == 2
    assert "defaultCounter:" not in readme.stdout, "the URLs are printed once, by the demo"
    assert "just minted" in readme.stdout, "the demo's table"
    assert "-m venv .venv" in install
    assert (ROOT / install.rpartition(" ")[2]).is_file()
    assert test.endswith("-m pytest")


@pytest.mark.long
@pytest.mark.usefixtures("nothing_left")
def test_after_the_set_up_the_recipes_in_python_run(machine: Machine, aws: Client) -> None:
    _, *environment = SET_UP.splitlines()  # the fixture has deployed
    programs = [PREPARE, *(blocks(title)[0][1] for title in (KEY, CONSUMER))]
    script = [*environment, *(f".venv/bin/python - <<'END'\n{code}END" for code in programs)]
    result = as_a_new_user(machine, "\n".join(script))

    assert result.returncode == 0, result.stderr
    history, pen = map(int, result.stdout.splitlines()[-1].split())
    assert pen == history + STRIDE
    assert {int(order["id"]["N"]) for order in aws("dynamodb").scan(TableName="orders")["Items"]} == {history, pen}
    (invoice,) = aws("dynamodb").scan(TableName="invoices")["Items"]
    assert invoice["order"] == {"S": "a book"}


def lines(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.splitlines(), 1))


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """The names in `people.txt`; there are more than one block's, and no newline at the end."""
    names = [f"person {n}" if n % 7 else "" for n in range(1, 1206)]
    (tmp_path / "people.txt").write_text("\n".join(names))
    return names


def test_a_shell_loop_that_is_run_again_gives_the_same(run: Run) -> None:
    loop, _ = blocks("A shell loop")

    first, again = run(*loop), run(*loop)

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    integers = [int(line.removeprefix(f"ticket {n} has the integer ")) for n, line in lines(first.stdout)]
    assert integers == [integers[0], integers[0] + STRIDE, integers[0] + 2 * STRIDE]


def test_a_shell_loop_that_lost_an_answer_goes_on(run: Run, machine: Machine, url: str) -> None:
    loop, _ = blocks("A shell loop")
    loop = (loop[0], loop[1].replace("import-", "other-import-"))
    before = mint(url)[1]["integer"]
    with Relay(machine.port) as relay:
        through = url.replace(str(machine.port), str(relay.port))

        def lose_the_second(_: Call) -> None:
            if len(relay.calls) == 2:
                raise ConnectionAbortedError

        relay.answered = lose_the_second
        cut, again = run(*loop, URL=through), run(*loop, URL=through)

    assert cut.returncode != 0
    assert cut.stdout == f"ticket 1 has the integer {before + STRIDE}\n"
    assert again.stdout.splitlines() == [f"ticket {n} has the integer {before + n * STRIDE}" for n in (1, 2, 3)]


def test_a_shell_loop_waits_for_a_change_of_layout(run: Run, machine: Machine, url: str, aws: Client) -> None:
    language, loop = blocks("A shell loop")[0]
    key = {"TableName": "global-integers-dev-counters", "Key": {"counter": {"S": "integers"}}}
    before = mint(url)[1]["integer"]
    item = aws("dynamodb").get_item(**key, ConsistentRead=True)["Item"]

    def ceiling(number: dict[str, str], *, fenced: bool) -> None:
        values, update = {":ceiling": number}, "SET ceiling = :ceiling REMOVE fenced"
        if fenced:
            values, update = {**values, ":true": {"BOOL": True}}, "SET ceiling = :ceiling, fenced = :true"
        aws("dynamodb").update_item(**key, UpdateExpression=update, ExpressionAttributeValues=values)

    # The region has just asked for more, or the coordinator would begin another epoch.
    asked: Any = {"receipt": {"S": ASKED_KEY}, "at": {"N": str(int(time.time()) + FUTURE - 10)}}
    aws("dynamodb").put_item(TableName="global-integers-dev-receipts", Item=asked)
    events = Aws(f"http://127.0.0.1:{machine.port}").client("events", "us-east-1")
    events.disable_rule(Name="global-integers-dev-schedule")  # a scheduled run would see a fenced item of the epoch
    ceiling(item["issued"], fenced=True)
    try:
        with Relay(machine.port) as relay:
            relay.answered = lambda call: ceiling(item["ceiling"], fenced=False) if call.status == 503 else None
            through = url.replace(str(machine.port), str(relay.port))
            result = run(language, loop.replace("import-", "patient-import-"), URL=through)
            statuses = [call.status for call in relay.calls]
    finally:
        ceiling(item["ceiling"], fenced=False)
        events.enable_rule(Name="global-integers-dev-schedule")
        aws("dynamodb").delete_item(TableName="global-integers-dev-receipts", Key={"receipt": asked["receipt"]})

    assert statuses == [503, 200, 200, 200]
    assert result.stdout.splitlines() == [f"ticket {n} has the integer {before + n * STRIDE}" for n in (1, 2, 3)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_shell_loop_stops_where_it_gets_no_integer(number: int, run: Run, url: str, people: list[str]) -> None:
    result = run(*blocks("A shell loop")[number], URL=url + "nothing")

    assert result.returncode != 0
    assert re.search(r"error: (404|422)", result.stderr)  # 422: the key has minted already, from another counter
    assert result.stdout == ""


def test_a_files_lines_are_numbered_a_write_per_thousand(run: Run, url: str, people: list[str]) -> None:
    _, loop = blocks("A shell loop")
    before = mint(url)[1]["integer"]

    first, again = run(*loop), run(*loop)

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    numbered = [line.split("\t") for line in first.stdout.splitlines()]
    assert [name for _, name in numbered] == people
    assert [int(n) for n, _ in numbered] == [before + STRIDE * n for n in range(1, len(people) + 1)]
    assert mint(url)[1]["integer"] == before + STRIDE * (len(people) + 1), "the second run minted nothing"


def test_a_number_begins_again_every_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (_, code), *_ = blocks("Numbers that restart every year")
    (tmp_path / "numbers.py").write_text(code)
    with Stack(counters=["integers", "invoices-2026", "invoices-2027"]) as stack:
        monkeypatch.setattr(Integers, "from_env", stack.integers)
        number = runpy.run_path(str(tmp_path / "numbers.py"))["number"]
        before, after = (datetime(2026, 12, 31, 22, 59, second, tzinfo=UTC) for second in (58, 59))
        midnight = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)  # in Berlin
        keys = [f"order-{n}" for n in range(4)]

        old = [number(before, keys[0]), number(after, keys[1])]
        new = [number(midnight, keys[2]), number(midnight, keys[3])]
        assert re.fullmatch(r"2026-00000\d 2026-00000\d", " ".join(old))
        assert re.fullmatch(r"2027-00000\d 2027-00000\d", " ".join(new))
        assert len({*old, *new}) == 4
        assert number(before, keys[0]) == old[0], "a retry after midnight gives the same"
        with pytest.raises(UnknownCounter):
            number(datetime(2028, 1, 1, tzinfo=UTC), "order-5")
        with pytest.raises(ValueError, match="time zone"):
            number(datetime(2026, 1, 1), "order-6")  # noqa: DTZ001


def test_a_sqid_is_read_back_and_no_other_spelling_is(tmp_path: Path) -> None:
    (_, code), *_ = blocks("Numbers that don't tell how many there are")
    (tmp_path / "numbers.py").write_text(code)
    namespace = runpy.run_path(str(tmp_path / "numbers.py"))
    shown, read = namespace["shown"], namespace["read"]

    for n, text in re.findall(r"^# (\d+) → (\w+)$", code, re.MULTILINE):
        assert shown(int(n)) == text
    every = [*range(1, 2000), 10**6, 10**9, 2**53 - 1]
    assert [read(shown(n)) for n in every] == every
    assert len({shown(n) for n in every}) == len(every)
    assert {len(shown(n)) for n in every[:-1]} == {8}
    for nonsense in ("", "zzzz", "AAAAAAAA", "order-17", shown(1)[:-1], namespace["sqids"].encode([1, 2])):
        with pytest.raises(ValueError, match="not one of our numbers"):
            read(nonsense)


def test_a_primary_key_that_is_taken_is_left_alone(run: Run, aws: Client, table: Table, url: str) -> None:
    (code,) = blocks(KEY)
    orders = table("orders")
    last = mint(url, "orders")[1]["integer"]
    imported = {"id": {"N": str(last + STRIDE)}, "item": {"S": "imported"}}
    aws("dynamodb").put_item(TableName="orders", Item=imported)

    result = run(*code)

    assert result.returncode == 0, result.stderr
    assert [int(n) for n in result.stdout.split()] == [last + 2 * STRIDE, last + 3 * STRIDE]
    assert imported in orders()
    assert len(orders()) == 3


def test_a_run_of_primary_keys_that_are_taken_is_told(run: Run, aws: Client, table: Table, url: str) -> None:
    (code,) = blocks(KEY)
    orders = table("orders")
    last = mint(url, "orders")[1]["integer"]
    for n in range(1, 4):
        aws("dynamodb").put_item(TableName="orders", Item={"id": {"N": str(last + n * STRIDE)}})

    result = run(*code)

    assert result.returncode == 1
    assert f"key {last + 3 * STRIDE} is taken, and those before it: the counter needs a floor" in result.stderr
    assert len(orders()) == 3


def test_an_order_whose_put_was_not_answered_has_one_key(run: Run, machine: Machine, table: Table) -> None:
    (code,) = blocks(KEY)
    orders = table("orders")
    with Relay(machine.port) as relay:
        lost: list[Call] = []

        def lose_the_first(call: Call) -> None:
            if call.target == "PutItem" and not lost:
                lost.append(call)
                raise ConnectionAbortedError

        relay.answered = lose_the_first
        result = run(*code, AWS_ENDPOINT_URL=f"http://127.0.0.1:{relay.port}")

    assert result.returncode == 0, result.stderr
    assert [call.target for call in relay.calls if call.status == 200].count("PutItem") == 3
    assert {int(order["id"]["N"]) for order in orders()} == {int(n) for n in result.stdout.split()}
    assert len(orders()) == 2


@pytest.fixture
def queue(aws: Client) -> Generator[str]:
    """A queue with one message in it, which comes again only when a test says so."""
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "43200"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="a book")
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def relay(machine: Machine) -> Generator[Relay]:
    with Relay(machine.port) as relay:
        yield relay


@pytest.fixture
def consume(start: Start, relay: Relay, url: str, machine: Machine) -> Consume:
    """Start the page's consumer, with the relay between it and the server."""
    ((language, code),) = blocks(CONSUMER)
    through = f"http://127.0.0.1:{relay.port}"
    own = f"http://127.0.0.1:{machine.port}"
    return lambda: start(language, code, AWS_ENDPOINT_URL=through, URL=url.replace(own, through))


def test_a_message_has_one_integer_whoever_is_killed(
    consume: Consume, relay: Relay, queue: str, aws: Client, table: Table, url: str
) -> None:
    invoices = table("invoices")
    before = mint(url, "invoices")[1]["integer"]
    unanswered: list[Callable[[Call], bool]] = [lambda call: call.minted, lambda call: call.target == "PutItem"]
    for cut in unanswered:
        started: Future[subprocess.Popen[str]] = Future()

        def kill(call: Call, cut: Callable[[Call], bool] = cut, started: Future[Any] = started) -> None:
            if cut(call):
                consumer = started.result(HANG)
                os.kill(consumer.pid, signal.SIGKILL)
                consumer.wait()

        relay.answered = kill
        with consume() as consumer:
            started.set_result(consumer)
            consumer.communicate(timeout=HANG)
        assert consumer.returncode == -signal.SIGKILL
        deliver_again(relay, aws, queue)
    relay.answered = lambda _: None
    consume_the_rest(consume, aws, queue)

    calls = [call for call in relay.calls if call.minted]
    assert len(calls) == 3
    assert len({call.request.headers["idempotency-key"] for call in calls}) == 1
    assert len({call.body for call in calls}) == 1
    assert invoices() == [{"id": {"N": str(before + STRIDE)}, "order": {"S": "a book"}}]
    assert mint(url, "invoices")[1]["integer"] == before + 2 * STRIDE, "nothing more was minted"


def test_a_message_comes_again_while_a_consumer_has_it(
    consume: Consume, relay: Relay, queue: str, aws: Client, table: Table, url: str
) -> None:
    invoices = table("invoices")
    before = mint(url, "invoices")[1]["integer"]
    minted, other_done = Event(), Event()

    def hold(call: Call) -> None:
        if call.minted and not minted.is_set():
            minted.set()
            assert other_done.wait(HANG)

    relay.answered = hold
    with consume() as slow:
        try:
            assert minted.wait(HANG)
            deliver_again(relay, aws, queue)
            consume_the_rest(consume, aws, queue)
        finally:
            other_done.set()
        _, err = slow.communicate(timeout=HANG)

    # AWS takes a second deletion for done; this server refuses it.
    assert slow.returncode == 0 or "ReceiptHandleIsInvalid" in err, err
    slow_call, quick_call = (call for call in relay.calls if call.minted)
    assert json.loads(slow_call.body) == json.loads(quick_call.body)
    assert [call.target for call in relay.calls].count("PutItem") == 2
    assert invoices() == [{"id": {"N": str(before + STRIDE)}, "order": {"S": "a book"}}]


def deliver_again(relay: Relay, aws: Client, queue: str) -> None:
    """Do now what the queue would do after its visibility time-out, with the message that was received last."""
    answers = [json.loads(call.body) for call in relay.calls if call.target == "ReceiveMessage"]
    (message,) = next(answer["Messages"] for answer in reversed(answers) if answer.get("Messages"))
    aws("sqs").change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)


def consume_the_rest(consume: Consume, aws: Client, queue: str) -> None:
    """Run one consumer to its end, after which no message is left, visible or not."""
    with consume() as consumer:
        _, err = consumer.communicate(timeout=HANG)
    assert consumer.returncode == 0, err
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    assert aws("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"] == dict.fromkeys(
        names, "0"
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a user whose `mariadb` finds a server."""
    folder = tmp_path_factory.mktemp("db")
    with server_in(folder):
        yield folder


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
    choose, pulumi, deploy, end, insert, verify = (code for _, code in blocks("Moving a MySQL sequence over"))
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


@pytest.mark.needs("mariadb")
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


@pytest.mark.needs("mariadb")
def test_old_writers_faster_than_thought_are_noticed(move: Move, shop: Shop) -> None:
    first = int(move("choose"))
    assert first == 1001 + 1_000_000, "counts the deleted rows too"
    shop(f"ALTER TABLE orders AUTO_INCREMENT = {first + 5}; {INSERT}; {INSERT}")

    assert move("end") == "choose a higher floor"
    second = int(move("choose"))
    assert second == first + 7 + 1_000_000


@pytest.mark.needs("mariadb")
def test_old_writers_insert_nothing_after_the_end(move: Move, shop: Shop) -> None:
    move("choose")
    move("end")
    for mode in ("", "STRICT_ALL_TABLES"):
        refused = shop.asked(f"USE shop; SET sql_mode = '{mode}'; {INSERT}")
        assert refused.returncode == 1, mode
        assert "minted" in refused.stderr or "doesn't have a default value" in refused.stderr
    assert shop("SELECT MIN(id), COUNT(*) FROM orders").split() == ["1", "997"]


@pytest.mark.needs("mariadb")
def test_without_its_end_the_sequence_would_go_on(shop: Shop) -> None:
    shop(f"INSERT INTO orders (id, item) VALUES (5000000, 'minted'); {INSERT}")

    assert int(shop("SELECT MAX(id) FROM orders")) == 5000001
