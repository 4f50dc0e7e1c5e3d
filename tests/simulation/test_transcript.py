"""The transcripts print what the code does, and a reader can rely on them."""

from pathlib import Path

import pytest

from simulation.transcript import play
from tests.simulation.rewrite_transcripts import TRANSCRIPTS

DEPLOYED = "deploy A us\nfinish A\n----\nregions asked for: us\nA has finished\n\n"


def test_there_are_a_layout_change_a_crash_and_a_race() -> None:
    assert {"layout_change.txt", "crash.txt", "race.txt"} <= {path.name for path in TRANSCRIPTS}


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_what_the_code_does(path: Path) -> None:
    text = path.read_text()

    assert play(text) == text, "if that is meant: python -m tests.simulation.rewrite_transcripts"


def test_a_transcript_that_says_something_else_is_corrected() -> None:
    assert play(DEPLOYED + "mint us 2\n----\nus: 1 3\n") == DEPLOYED + "mint us 2\n----\nus: 1 2\n"


def test_comments_stay_and_print_nothing() -> None:
    assert (
        play("# nothing yet\n\n# and here\nshow\n----\n") == "# nothing yet\n\n# and here\nshow\n----\nregister: none\n"
    )


def test_a_step_is_one_operation() -> None:
    steps = "deploy A us\nstep A 2\n----\nregions asked for: us\nA: ReadRegister -> none\nA: ReadStanding -> us\n"

    assert play(steps) == steps


def test_what_crashed_does_not_go_on() -> None:
    crashed = "deploy A us\ncrash A\n----\nregions asked for: us\nA has crashed before ReadRegister\n\n"

    with pytest.raises(KeyError):
        play(crashed + "step A\n----\n")


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="'dance A' is no command"):
        play("dance A\n----\n")
