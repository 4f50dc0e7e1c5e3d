"""The transcripts print what the code does, and a reader can rely on them."""

from pathlib import Path

import pytest

from proof.simulation.transcript import play
from tools.generated import TRANSCRIPTS


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_prints_what_the_code_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert play(text) == text, "if that is meant: make fix, and read the difference"
