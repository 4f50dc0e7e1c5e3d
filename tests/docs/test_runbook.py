"""The runbook quotes the coordinator's messages."""

from coordinate.model import Register
from coordinate.refusals import lost

from local.paths import ROOT


def test_the_message_of_a_lost_table_is_quoted() -> None:
    message = str(lost(Register("integers", 1, ("eu-west-1",), 1, "x"), "eu-west-1", None))

    assert message in (ROOT / "docs" / "runbook.md").read_text()
