"""docs/layouts.md shows what its commands print, and the numbers of the code."""

import pytest
from coordinate.dynamodb.calls import ATTEMPTS, FIRST_SECONDS, REGION_SECONDS, TOGETHER
from coordinate.dynamodb.run_lock import SECONDS
from coordinate.protocol.model import MAX_PAST
from coordinate.protocol.moves import LATEST

from local.paths import ROOT
from proof.simulation.schedule import COORDINATORS
from tests.proof.simulation.test_conditions import BY_HAND, BY_SEARCH
from tests.proof.simulation.test_losses import FOUND
from tests.proof.simulation.test_schedule import LOSSES

PAGE = (ROOT / "docs" / "layouts.md").read_text()
WORDS = {2: "two", 3: "three", 4: "four", 40: "forty"}


@pytest.mark.parametrize(
    "said",
    [
        f"{sum(LOSSES.values()):,} random schedules",
        f"up to {WORDS[COORDINATORS]} coordinators",
        f"Each of the {len({*BY_SEARCH, *BY_HAND, *FOUND})} conditions and rules is taken out",
        f"more than {WORDS[LATEST // 3600]} hours ago",
        f"expires {WORDS[SECONDS // 60]} minutes after",
        f"For {REGION_SECONDS} seconds (at the first deployment and when a loss is answered, for up to "
        f"{FIRST_SECONDS // 60} minutes)",
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
        *("created", "begun", "joined", "granted", "put back", "lost", "deleting"),
        *("stray", "unreachable", "throttled", "denied"),
    ],
)
def test_the_phases_of_the_log_are_named(phase: str) -> None:
    assert f"`{phase}`" in PAGE
    logging = [(ROOT / "lambda" / "coordinate" / file).read_text() for file in ("log.py", "dynamodb/calls.py")]
    assert any(f'"{phase}"' in text for text in logging)
