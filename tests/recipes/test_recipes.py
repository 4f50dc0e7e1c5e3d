"""Every recipe does what it says: run as it stands on the page. The longer ones have files of their own."""

import re
import runpy
from pathlib import Path

import pytest

from tests.local.machine import Machine, mint
from tests.recipes.recipe_page import STRIDE, Client, Run, Table, blocks
from tests.recipes.relay import Call, relay_to


def test_a_shell_loop_gives_the_same_when_it_is_run_again(run: Run) -> None:
    loop, _ = blocks("A shell loop")

    first, again = run(*loop), run(*loop)

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    integers = [int(line.removeprefix(f"ticket {n} has the integer ")) for n, line in lines(first.stdout)]
    assert integers == [integers[0], integers[0] + STRIDE, integers[0] + 2 * STRIDE]


def test_a_shell_loop_that_lost_an_answer_goes_on_when_it_is_run_again(run: Run, machine: Machine, url: str) -> None:
    loop, _ = blocks("A shell loop")
    loop = (loop[0], loop[1].replace("import-", "other-import-"))
    before = mint(url)[1]["integer"]
    with relay_to(machine.port) as relay:
        through = url.replace(str(machine.port), str(relay.port))

        def lose_the_second(_: Call) -> None:
            if len(relay.calls) == 2:
                raise ConnectionAbortedError

        relay.answered = lose_the_second
        cut, again = run(*loop, URL=through), run(*loop, URL=through)

    assert cut.returncode != 0
    assert cut.stdout == f"ticket 1 has the integer {before + STRIDE}\n"
    assert again.stdout.splitlines() == [f"ticket {n} has the integer {before + n * STRIDE}" for n in (1, 2, 3)]


def test_a_shell_loop_waits_for_a_change_of_layout_to_finish(run: Run, machine: Machine, url: str, aws: Client) -> None:
    language, loop = blocks("A shell loop")[0]
    key = {"TableName": "global-integers-dev-counters", "Key": {"counter": {"S": "integers"}}}
    before = mint(url)[1]["integer"]
    item = aws("dynamodb").get_item(**key, ConsistentRead=True)["Item"]

    def ceiling(number: dict[str, str], *, fenced: bool) -> None:
        values = {":ceiling": number, ":fenced": {"BOOL": fenced}}
        update = "SET ceiling = :ceiling, fenced = :fenced"
        aws("dynamodb").update_item(**key, UpdateExpression=update, ExpressionAttributeValues=values)

    ceiling(item["issued"], fenced=True)
    try:
        with relay_to(machine.port) as relay:
            relay.answered = lambda call: ceiling(item["ceiling"], fenced=False) if call.status == 503 else None
            through = url.replace(str(machine.port), str(relay.port))
            result = run(language, loop.replace("import-", "patient-import-"), URL=through)
            statuses = [call.status for call in relay.calls]
    finally:
        ceiling(item["ceiling"], fenced=False)

    assert statuses == [503, 200, 200, 200]
    assert result.stdout.splitlines() == [f"ticket {n} has the integer {before + n * STRIDE}" for n in (1, 2, 3)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_shell_loop_stops_where_it_gets_no_integer(number: int, run: Run, url: str, people: list[str]) -> None:
    result = run(*blocks("A shell loop")[number], URL=url + "nothing")

    assert result.returncode != 0
    assert re.search(r"error: (404|422)", result.stderr)  # 422: the key has minted already, from another counter
    assert result.stdout == ""


def test_the_lines_of_a_file_are_numbered_a_write_each_thousand(run: Run, url: str, people: list[str]) -> None:
    _, loop = blocks("A shell loop")
    before = mint(url)[1]["integer"]

    first, again = run(*loop), run(*loop)

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    numbered = [line.split("\t") for line in first.stdout.splitlines()]
    assert [name for _, name in numbered] == people
    assert [int(n) for n, _ in numbered] == [before + STRIDE * n for n in range(1, len(people) + 1)]
    assert mint(url)[1]["integer"] == before + STRIDE * (len(people) + 1), "the second run minted nothing"


def test_a_mistyped_number_is_told(tmp_path: Path) -> None:
    ((_, code),) = blocks("A number that people type")
    (tmp_path / "numbers.py").write_text(code)
    given = runpy.run_path(str(tmp_path / "numbers.py"))
    shown, read = given["shown"], given["read"]

    assert shown(42) == "INV-4269"
    for n in (1, 7, 42, 97, 1_000_000, 2**53 - 1):
        digits = shown(n).removeprefix("INV-")
        assert read(shown(n)) == read(f" inv-{digits}\n") == n
        one_wrong = {digits[:at] + d + digits[at + 1 :] for at in range(len(digits)) for d in "0123456789"}
        swapped = {digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :] for at in range(len(digits) - 1)}
        for mistyped in (one_wrong | swapped) - {digits}:
            with pytest.raises(ValueError, match=mistyped):
                read(f"INV-{mistyped}")
    for nonsense in ("", "INV-", "INV--1", "INV-x", "INV-٤٢"):
        with pytest.raises(ValueError, match="not an invoice number"):
            read(nonsense)


KEY = "An auto-increment primary key for a DynamoDB table"


def test_a_primary_key_that_is_taken_is_left_alone_and_the_next_is_used(run: Run, aws: Client, table: Table) -> None:
    (code,) = blocks(KEY)
    orders = table("orders")

    first = run(*code)
    assert first.returncode == 0, first.stderr
    book, pen = map(int, first.stdout.split())
    assert pen == book + STRIDE
    imported = {"id": {"N": str(pen + STRIDE)}, "item": {"S": "imported"}}
    aws("dynamodb").put_item(TableName="orders", Item=imported)
    second = run(*code)

    assert second.returncode == 0, second.stderr
    assert [int(n) for n in second.stdout.split()] == [pen + 2 * STRIDE, pen + 3 * STRIDE]
    assert imported in orders()
    assert len(orders()) == 5


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


def test_an_order_whose_put_was_carried_out_but_not_answered_has_one_key(
    run: Run, machine: Machine, table: Table
) -> None:
    (code,) = blocks(KEY)
    orders = table("orders")
    with relay_to(machine.port) as relay:
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


def lines(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.splitlines(), 1))


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """The names in `people.txt`; there are more than one block's, and no newline at the end."""
    names = [f"person {n}" if n % 7 else "" for n in range(1, 1206)]
    (tmp_path / "people.txt").write_text("\n".join(names))
    return names
