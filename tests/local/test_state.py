"""What is recorded of a deployment, on disk."""

import json
from pathlib import Path

import pytest

from local.paths import VERSION, LocalError
from local.stack import Made, State
from tests.local.machine import write_state

TABLE = Made("Table us-east-1 t", "Table", "t", {"region": "us-east-1"}, "t", {"arn": "a"})


def test_the_next_run_reads_what_was_recorded(folder: Path) -> None:
    state = State("dev")
    state.put(TABLE)
    state.finish({"urls": {}})

    again = State("dev")
    assert (again.resources, again.outputs) == ({TABLE.key: TABLE}, {"urls": {}})
    again.remove(TABLE.key)
    assert State("dev").resources == {}
    assert State("other").resources == {}


def test_what_is_replaced_stays_until_it_is_deleted(folder: Path) -> None:
    state = State("dev")
    state.put(TABLE)
    for number in range(3):
        state.replace(Made(TABLE.key, "Table", "t", {"number": number}, "t", {}))

    again = State("dev").resources
    assert [made.inputs.get("number") for made in again.values()] == [None, 0, 1, 2]
    assert [made.replaced for made in again.values()] == [True, True, True, False]
    assert list(again)[-1] == TABLE.key


def test_a_state_of_another_version_is_refused(folder: Path) -> None:
    write_state(folder / "dev.json", {"version": VERSION + 1, "outputs": {}, "resources": []})

    with pytest.raises(LocalError, match=rf"of version {VERSION + 1} .* this is version {VERSION}, .* down, then "):
        State("dev")


def test_the_state_of_another_stack_is_refused(folder: Path) -> None:
    State("two").put(TABLE)
    (folder / "two.json").rename(folder / "dev.json")

    with pytest.raises(LocalError, match=r"dev\.json is the state of the stack two; put that of dev back"):
        State("dev")


@pytest.mark.parametrize("text", ["", "[]", "7", '{"outputs": {}}', '{"version": 1, "resources": [{', '{"version": 1}'])
def test_a_damaged_state_is_reported(folder: Path, text: str) -> None:
    (folder / "dev.json").write_text(text)

    with pytest.raises(LocalError, match=r"dev\.json is damaged; delete it and deploy again"):
        State("dev")


def test_a_write_that_fails_leaves_the_last_state(folder: Path) -> None:
    state = State("dev")
    state.put(TABLE)

    with pytest.raises(TypeError):
        state.finish({"not": object()})

    assert json.loads((folder / "dev.json").read_text())["outputs"] == {}
    assert State("dev").resources == {TABLE.key: TABLE}
