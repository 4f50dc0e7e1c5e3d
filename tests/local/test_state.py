"""What is recorded of a deployment, on disk."""

import json
from pathlib import Path

import pytest

from local.paths import VERSION, LocalError
from local.stack import Made, State, with_checksum

TABLE = Made("Table us-east-1 t", "Table", "t", {"region": "us-east-1"}, "t", {"arn": "a"})


def test_the_next_run_reads_what_was_recorded(folder: Path) -> None:
    state = State("dev")
    state.begin(["lease=2"])
    state.put(TABLE)
    assert State("dev").unfinished
    state.finish({"urls": {}})

    again = State("dev")
    assert (again.resources, again.outputs, again.unfinished) == ({TABLE.key: TABLE}, {"urls": {}}, False)
    assert again.up.endswith("-m local up --stack dev -c lease=2")
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


def test_a_state_that_is_changed_anywhere_is_refused(folder: Path) -> None:
    State("dev").put(TABLE)
    path = folder / "dev.json"
    whole = path.read_bytes()
    changed = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for text in (*changed, b"", b"7", b"{}", whole[:99], b"[" * 100_000):
        path.write_bytes(text)
        with pytest.raises(LocalError, match=r"dev\.json is damaged; delete it and deploy again"):
            State("dev")


def test_a_state_of_another_version_is_refused(folder: Path) -> None:
    (folder / "dev.json").write_text(with_checksum(json.dumps({"version": VERSION + 1})))
    with pytest.raises(LocalError, match=rf"of version {VERSION + 1} .* this is version {VERSION}, .* down, "):
        State("dev")


def test_a_write_that_fails_leaves_the_last_state(folder: Path) -> None:
    state = State("dev")
    state.put(TABLE)

    with pytest.raises(TypeError):
        state.finish({"not": object()})

    assert State("dev").outputs == {}
    assert State("dev").resources == {TABLE.key: TABLE}
