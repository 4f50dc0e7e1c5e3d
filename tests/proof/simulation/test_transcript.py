"""The transcripts print what the code does, and a reader can rely on them."""

import pytest

from proof.simulation.transcript import play
from tools.generated import TRANSCRIPTS

DEPLOYED = "deploy A us\nfinish A\n----\nasked for: regions us\nA has finished\n\n"


def test_the_readers_find_every_story() -> None:
    assert {path.stem for path in TRANSCRIPTS} == {
        "first_deployment",
        "third_region",
        "crash_and_race",
        "lost_table",
        "lost_layouts",
        "unreachable",
        "leaving",
    }


def test_a_transcript_that_says_something_else_is_corrected() -> None:
    assert play(DEPLOYED + "mint us 2\n----\nus: 1 3\n") == DEPLOYED + "mint us 2\n----\nus: 1 2\n"


def test_comments_stay_and_print_nothing() -> None:
    played = "# nothing yet\n\n# and here\nshow\n----\nrecord: none\nregister: none\n"

    assert play("# nothing yet\n\n# and here\nshow\n----\n") == played


def test_a_step_is_one_operation() -> None:
    steps = "deploy A us\nstep A 1\n----\nasked for: regions us\nA reads Record none\n"

    assert play(steps) == steps


def test_a_describe_is_printed_with_the_reads_that_it_proves() -> None:
    steps = "deploy A us\nstep A 4\n----\n"

    assert play(steps).endswith("\nA reads Record none, Admitted none (layouts#1)\nA reads RecordCopy none\n")


def test_the_writes_are_printed_without_the_reads() -> None:
    writes = (
        "deploy A us\nwrites A until WriteRegister\n----\nasked for: regions us\n"
        "A: WriteRecordCopy 1: regions us, token A/0 -> done\nA: WriteRecord 1: regions us, token A/0 -> done\n"
    )

    assert play(writes) == writes


def test_a_run_stops_before_the_operation() -> None:
    stopped = (
        "deploy A us\nwrites A until WriteRecordCopy\nshow\n----\nasked for: regions us\nrecord: none\nregister: none\n"
    )

    assert play(stopped) == stopped + "us (us#2): none\n"


def test_what_crashed_does_not_go_on() -> None:
    crashed = "deploy A us\ncrash A\n----\nasked for: regions us\nA has crashed before ReadRecord\n\n"

    with pytest.raises(KeyError):
        play(crashed + "step A\n----\n")


def test_a_region_that_is_unreachable_mints_and_is_pending() -> None:
    unreachable = "unreachable us\nmint us\ndeploy B us eu\nfinish B\nreachable us\nschedule C\nfinish C\n----\n"
    lines = "us: 1\nasked for: regions us eu\nB has finished, pending: us\nC has finished\n"

    assert play(DEPLOYED + unreachable) == DEPLOYED + unreachable + lines


def test_a_lost_table_is_made_again_empty() -> None:
    lost = "mint us\nlose us\nmint us\nshow\n----\n"

    assert play(DEPLOYED + lost).splitlines()[-6:] == [
        "us: 1",
        "made again, empty: us#3",
        "us: none",
        "record: 1: regions us, token A/0, reconciled",
        "register: epoch 1, regions us, base 1, limit 100, tables us#2",
        "us (us#3): none",
    ]


def test_a_refusal_is_printed() -> None:
    refused = play(DEPLOYED + "lose layouts\nlose mirror\ndeploy B us\nfinish B\n----\n")

    assert "B is refused: Neither the layouts table (layouts 3) nor its mirror has the deployment record" in refused


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="'dance A' is no command"):
        play("dance A\n----\n")
