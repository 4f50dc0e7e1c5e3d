"""The transcripts print what the code does, and a reader can rely on them."""

from pathlib import Path

import pytest

from proof.simulation.transcript import play
from tools.generated import TRANSCRIPTS

DEPLOYED = "deploy A us\nfinish A\n----\nasked for: regions us\nA has finished\n\n"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_prints_what_the_code_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert play(text) == text, "if that is meant: make fix, and read the difference"


def test_a_transcript_that_says_something_else_is_corrected() -> None:
    assert play(DEPLOYED + "mint us 2\n----\nus: 1 3\n") == DEPLOYED + "mint us 2\n----\nus: 1 2\n"


def test_comments_stay_and_print_nothing() -> None:
    played = "# nothing yet\n\n# and here\nshow\n----\nrecord: none\nregister: none\n"

    assert play("# nothing yet\n\n# and here\nshow\n----\n") == played


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="'dance A' is no command"):
        play("dance A\n----\n")
