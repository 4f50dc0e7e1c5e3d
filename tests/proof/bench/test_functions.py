"""The functions that `make bench` compares all mint, each by its own request."""

import sys

import pytest

from proof.bench import functions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AWS's runtime is for Linux")


@pytest.mark.slow
def test_every_subject_mints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "PYTHON", functions.Path(sys.executable))
    found = functions.measure(functions.SUBJECTS, rounds=1, requests=3)

    assert {subject for subject, row in found.items() if "units" in row} == {*functions.SUBJECTS} - {"empty"}
    assert {found[subject]["units"] for subject in ("tutorial", "bare", "one")} == {1}
    assert 0 < found["block"]["units"] < 0.02
    assert "ours ÷ by hand" in functions.table(found)
