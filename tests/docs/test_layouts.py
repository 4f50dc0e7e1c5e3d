"""docs/layouts.md shows what its commands print, and the numbers of the code."""

import pytest
from coordinate.dynamodb.calls import ATTEMPTS, FIRST_SECONDS, REGION_SECONDS, TOGETHER
from coordinate.dynamodb.run_lock import SECONDS
from coordinate.protocol.admit import LATEST
from coordinate.protocol.model import MAX_PAST

from global_integers_core.lattice import MAX_INTEGER, MAX_REGIONS
from local.paths import ROOT
from proof.simulation.schedule import COORDINATORS
from proof.simulation.world import ALIVE, CONDITIONS, DEFAULTS, RULES
from tests.proof.simulation.test_schedule import LOSSES

PAGE = (ROOT / "docs" / "layouts.md").read_text()
WORDS = {2: "two", 3: "three", 4: "four", 40: "forty"}


def test_what_a_window_means_is_computed_from_the_defaults() -> None:
    window, headroom = 100_000_000, 10_000  # the test below compares them with the settings

    for said in (
        f"{3 * window:,} integers with three regions",
        f"{window / 2 / 1000 / 3600:.0f} hours at 1,000 integers per second",
        f"{window // 2 // 86_400} days at one",
        f"integers for {MAX_INTEGER // (3 * window * 10**6)} million lost tables of three regions",
        f"every day for {MAX_INTEGER // (MAX_REGIONS * headroom * 365 * 10**6)} million years",
    ):
        assert said in PAGE


@pytest.mark.parametrize(
    "said",
    [
        f"{sum(LOSSES.values()):,} random schedules",
        f"up to {WORDS[COORDINATORS]} coordinators",
        f"Each of the {len(CONDITIONS)} conditions and {len((*RULES, *DEFAULTS, *ALIVE))} rules is taken out",
        f"more than {WORDS[LATEST // 3600]} hours ago",
        f"expires {WORDS[SECONDS // 60]} minutes after",
        f"For {REGION_SECONDS} seconds (at the first deployment, for up to {FIRST_SECONDS // 60} minutes)",
        f"{WORDS[ATTEMPTS].capitalize()} attempts got no valid response",
        f"{WORDS[TOGETHER].capitalize()} calls in a row were throttled",
        f"the last {WORDS[MAX_PAST]} past layouts",
    ],
)
def test_the_numbers_are_those_of_the_code(said: str) -> None:
    assert said in PAGE


@pytest.mark.parametrize(
    "phase",
    [
        "created",
        "begun",
        "joined",
        "granted",
        "put back",
        "deleting",
        "deleted",
        "unknown",
        "unreachable",
        "throttled",
        "denied",
    ],
)
def test_the_phases_of_the_log_are_named(phase: str) -> None:
    assert f"`{phase}`" in PAGE
    logging = [(ROOT / "lambda" / "coordinate" / file).read_text() for file in ("log.py", "dynamodb/calls.py")]
    assert any(f'"{phase}"' in text for text in logging)


def test_the_defaults_are_those_of_the_project_file() -> None:
    settings = (ROOT / "docs" / "settings.md").read_text()  # a test of its own compares it with Pulumi.yaml

    for key, shown in (("window", "100,000,000"), ("headroom", "10,000")):
        assert f"| `{key}` | integer | `{shown.replace(',', '')}` |" in settings
        assert shown in PAGE
