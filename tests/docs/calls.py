"""What the project relies on of AWS: `docs/calls.jsonl`, a call, a field, an error or a kind of resource a line.

`relies` says what, with the names that the code has in backticks, and `where` is a file that does. `evidence` is a test
of LocalStack's with a recording of what AWS answered (github.com/localstack/localstack, below tests/aws/services).
Without one, a line has what `shows` it on a first deployment: a command, which may need a condition, `when`.
"""

import json
import re
from typing import Any, cast

from local.paths import ROOT

CALLS = ROOT / "docs" / "calls.jsonl"

EVIDENCE = re.compile(r"test_\w+(::Test\w+)?::tests?_\w+(\[.+\])?")
"""File, class, test and parameters."""

MEMBERS = ({"relies", "where", "evidence"}, {"relies", "where", "shows"}, {"relies", "where", "shows", "when"})

Call = dict[str, str]


def calls(text: str) -> list[Call]:
    """Return the lines of the list.

    Raises:
        ValueError: a line is wrong; it says which and how.
    """
    found: list[Call] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            call: Any = json.loads(line)
            if problem := _problem(call):
                raise ValueError(problem)
        except ValueError as error:
            raise ValueError(f"calls.jsonl, line {number}: {error}") from error
        found.append(call)
    return found


def _problem(parsed: Any) -> str:
    call = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    if set(call) not in MEMBERS:
        return "it has relies, where, and either evidence, or shows and perhaps when"
    if not all(isinstance(value, str) and value for value in call.values()):
        return "each member is a text"
    if not (ROOT / call["where"]).is_file():
        return f"where: there is no file {call['where']!r}"
    if "evidence" in call and not EVIDENCE.fullmatch(call["evidence"]):
        return f"evidence: {call['evidence']!r} isn't a test, like test_lambda_api::TestLambdaAlias::test_alias_naming"
    return ""


def unseen() -> str:
    """Return the rows of the runbook's table: each command, and what it shows that no recording does."""
    shown: dict[str, list[str]] = {}
    for call in calls(CALLS.read_text(encoding="utf-8")):
        if "shows" in call:
            condition = f", {call['when']}" if "when" in call else ""
            shown.setdefault(f"`{call['shows']}`{condition}", []).append(call["relies"])
    return "".join(f"| {command} | {'; '.join(relied)} |\n" for command, relied in shown.items())
