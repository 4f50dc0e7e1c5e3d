"""The world in memory does what AWS's own DynamoDB for development does."""

import pytest
from hypothesis import given

from local.aws_clients import Aws
from proof.simulation.world import World
from tests.lambda_.fixtures import Stack
from tests.proof.simulation.random_operations import STEPS, WORLDS, Step
from tests.proof.simulation.tables import Tables
from tests.proof.simulation.test_world import PATIENT, compare

pytestmark = [pytest.mark.long, pytest.mark.needs("dynamodb-local")]


@pytest.fixture(scope="session")
def aws(dynamodb_local: str) -> Aws:
    """The clients with which `stack` makes its tables."""
    return Aws(dynamodb_local)


def test_every_answer_and_every_record_is_dynamodb_locals(stack: Stack) -> None:
    tables = Tables(stack)

    @PATIENT
    @given(WORLDS, STEPS)
    def same(world: World, steps: list[Step]) -> None:
        compare(world, tables, steps)

    same()
