"""Every recipe does what it says: run as it stands on the page, after its set-up, on a server and a real database."""

import re
import runpy
import signal
import subprocess
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from global_integers import Integers, UnknownCounter
from global_integers.testing import Stack

from local.aws_clients import Aws
from local.paths import ROOT
from proof.faulty_server import Fault, Request, Response, Server
from tests.local.machine import mint
from tests.recipes.conftest import HANG, PREPARE, REGION, STRIDE, User, recipe

((_, KEY),) = recipe("An auto-increment primary key for a DynamoDB table")
((_, CONSUMER),) = recipe("An idempotent SQS consumer")
LOOP, LINES = recipe("A shell loop")


@pytest.mark.server
def test_the_readmes_commands_deploy_and_mint(readme: str) -> None:
    install, *_ = recipe("Without make", "../README.md")[0][1].splitlines()
    _, (_, program), (_, use) = recipe("Use it", "../README.md")
    (first,) = map(int, re.findall(r"# such as (\d+)", program))
    printed = readme.rpartition("local down\n")[2]

    assert printed.splitlines()[:2] == [str(first), str(first + 1)], "the lease's next two"
    answers = re.findall(r"\{.*?\}", printed)
    assert (answers[0], len(answers)) == (*re.findall("# ({.*})", use), 2)
    assert "just minted" in readme, "the demo's table"
    assert (ROOT / install.rpartition(" ")[2]).is_file()


def of_ticket_2(request: Request) -> bool:
    return request.headers["idempotency-key"].endswith("-2")


@pytest.mark.parametrize(
    ("name", "fault", "stops"),
    [
        ("busy", Fault(replies=[Response(503)], times=1), False),
        ("lost", Fault(matches=of_ticket_2, carried_out=True, end="close", times=1), True),
    ],
)
def test_a_shell_loop_that_is_run_again_goes_on(name: str, fault: Fault, stops: bool, user: User, url: str) -> None:
    language, code = LOOP
    before = mint(url)[1]["integer"]
    expected = "".join(f"ticket {n} has the integer {before + n * STRIDE}\n" for n in (1, 2, 3))
    with user.faulty(fault) as server:
        through = url.replace(user.machine.endpoint, server.url)
        first, again = (user.run(language, code.replace("import", name), URL=through) for _ in range(2))

    assert again.stdout == expected
    assert (first.returncode != 0) == stops
    assert first.stdout == (expected if not stops else expected.splitlines(keepends=True)[0])


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """The names in `people.txt`; there are more than one block's, and no newline at the end."""
    names = [f"person {n}" if n % 7 else "" for n in range(1, 1206)]
    (tmp_path / "people.txt").write_text("\n".join(names))
    return names


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("loop", [LOOP, LINES])
def test_a_shell_loop_stops_where_it_gets_no_integer(loop: tuple[str, str], user: User, url: str) -> None:
    language, code = loop
    result = user.run(language, code.replace("2026", "2025"), URL=url + "nothing")

    assert result.returncode != 0
    assert "error: 404" in result.stderr
    assert result.stdout == ""


def test_a_files_lines_are_numbered_a_write_per_thousand(user: User, url: str, people: list[str]) -> None:
    before = mint(url)[1]["integer"]
    first, again = user.output(*LINES), user.output(*LINES)

    assert again == first
    assert first.splitlines() == [f"{before + STRIDE * n}\t{name}" for n, name in enumerate(people, 1)]
    assert mint(url)[1]["integer"] == before + STRIDE * (len(people) + 1), "the second run minted nothing"


def names_of(title: str, folder: Path) -> dict[str, Any]:
    """Run a recipe in this process. Returns what it defines."""
    (folder / "numbers.py").write_text(recipe(title)[0][1])
    return runpy.run_path(str(folder / "numbers.py"))


def test_a_number_begins_again_every_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stack(counters=["integers", "invoices-2026", "invoices-2027"]) as stack:
        monkeypatch.setattr(Integers, "from_env", stack.integers)
        number = names_of("Numbers that restart every year", tmp_path)["number"]
        before, midnight = datetime(2026, 12, 31, 22, 59, 59, tzinfo=UTC), datetime(2026, 12, 31, 23, tzinfo=UTC)

        numbers = [number(time, f"order-{n}") for n, time in enumerate((before, before, midnight, midnight))]
        assert re.fullmatch(r"(2026-00000\d ){2}2027-00000\d 2027-00000\d", " ".join(numbers)), "in Berlin"
        assert len({*numbers}) == 4
        assert number(before, "order-0") == numbers[0], "a retry after midnight gives the same"
        with pytest.raises(UnknownCounter):
            number(datetime(2028, 1, 1, tzinfo=UTC), "order-5")
        with pytest.raises(ValueError, match="time zone"):
            number(datetime(2026, 1, 1), "order-6")  # noqa: DTZ001


def test_a_sqid_is_read_back_and_no_other_spelling_is(tmp_path: Path) -> None:
    title = "Numbers that don't tell how many there are"
    names = names_of(title, tmp_path)
    shown, read = names["shown"], names["read"]

    assert [shown(int(n)) == text for n, text in re.findall(r"# (\d+) → (\w+)", recipe(title)[0][1])] == [True] * 3
    every = [*range(1, 2000), 10**6, 10**9, 2**53 - 1]
    assert [read(shown(n)) for n in every] == every
    assert {len(shown(n)) for n in every[:-1]} == {8}
    for nonsense in ("", "zzzz", "AAAAAAAA", "order-17", shown(1)[:-1], names["sqids"].encode([1, 2])):
        with pytest.raises(ValueError, match="not one of our numbers"):
            read(nonsense)


@pytest.fixture
def aws(user: User) -> Generator[Aws]:
    """The page's tables, and its queue, whose message comes again at once."""
    user.output("python", PREPARE)
    aws = Aws(user.machine.endpoint)
    sqs, dynamodb = aws.client("sqs", REGION), aws.client("dynamodb", REGION)
    queue = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "0"})
    yield aws
    sqs.delete_queue(QueueUrl=queue)
    for table in ("orders", "invoices"):
        dynamodb.delete_table(TableName=table)


def items(aws: Aws, table: str) -> dict[int, str]:
    """Return what a table has by its key: the name of the item, or its order."""
    found: Any = aws.client("dynamodb", REGION).scan(TableName=table)["Items"]
    return {int(each["id"]["N"]): (each.get("item") or each["order"])["S"] for each in found}


@pytest.mark.parametrize("taken", [1, 3])
def test_a_primary_key_that_is_taken_is_left_alone(taken: int, user: User, aws: Aws, url: str) -> None:
    last = mint(url, "orders")[1]["integer"]
    imported = {last + n * STRIDE: "imported" for n in range(1, taken + 1)}
    for n in imported:
        item = {"id": {"N": str(n)}, "item": {"S": "imported"}}
        aws.client("dynamodb", REGION).put_item(TableName="orders", Item=item)
    result = user.run("python", KEY)

    if taken == 1:
        assert result.stdout == f"{last + 2 * STRIDE} {last + 3 * STRIDE}\n", result.stderr
        imported |= {last + 2 * STRIDE: "book", last + 3 * STRIDE: "pen"}
    else:
        assert result.returncode == 1
        assert f"key {max(imported)} is taken, and those before it: the counter needs a floor" in result.stderr
    assert items(aws, "orders") == imported


def putting(request: Request) -> bool:
    return request.operation == "PutItem"


def minting(request: Request) -> bool:
    return request.path.startswith("/_aws/lambda-url/")


def test_an_order_whose_put_was_not_answered_has_one_key(user: User, aws: Aws) -> None:
    with user.faulty(Fault("lost", matches=putting, carried_out=True, end="close", times=1)) as server:
        printed = user.output("python", KEY, AWS_ENDPOINT_URL=server.url)

    assert server.injected["lost"] == 1
    assert items(aws, "orders") == dict(zip(map(int, printed.split()), ("book", "pen"), strict=True))


def consumer(user: User, server: Server) -> "subprocess.Popen[str]":
    """Start the page's consumer, with the server before the local one."""
    through = user.environment["URL"].replace(user.machine.endpoint, server.url)
    return user.start("python", CONSUMER, AWS_ENDPOINT_URL=server.url, URL=through)


def test_a_message_has_one_integer_whoever_is_killed(user: User, aws: Aws, url: str) -> None:
    before = mint(url, "invoices")[1]["integer"]
    started: list[subprocess.Popen[str]] = []
    with user.faulty() as server:
        for cut in (minting, putting):
            fault = Fault(matches=cut, carried_out=True, end="close", notify=lambda: started[-1].kill())
            with server.failing(fault), consumer(user, server) as killed:
                started.append(killed)
            assert killed.returncode == -signal.SIGKILL
        with consumer(user, server) as last:
            _, err = last.communicate(timeout=HANG)

    assert last.returncode == 0, err
    assert len([request for request in server.requests if minting(request)]) == 3
    assert items(aws, "invoices") == {before + STRIDE: "a book"}
    assert mint(url, "invoices")[1]["integer"] == before + 2 * STRIDE, "nothing more was minted"


def test_a_message_comes_again_while_a_consumer_has_it(user: User, aws: Aws, url: str) -> None:
    before = mint(url, "invoices")[1]["integer"]
    minted = Event()
    with user.faulty() as server:
        held = Fault(matches=minting, carried_out=True, times=1, notify=minted.set, hold=True)
        with server.failing(held):
            slow = consumer(user, server)
            assert minted.wait(HANG)
            with consumer(user, server) as quick:
                _, err = quick.communicate(timeout=HANG)
            assert quick.returncode == 0, err
        _, err = slow.communicate(timeout=HANG)

    # AWS takes a second deletion for done; this server refuses it.
    assert slow.returncode == 0 or "ReceiptHandleIsInvalid" in err, err
    assert len([request for request in server.requests if putting(request)]) == 2
    assert items(aws, "invoices") == {before + STRIDE: "a book"}
