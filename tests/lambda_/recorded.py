"""What AWS answered, as raw responses: `recorded.jsonl`, one a line.

`evidence` is the test of LocalStack's repository by which the answer was recorded from AWS (`file::class::test`), with
"(asserted)" where the test itself has it. It has the statuses, headers and fields; ids are made up. `of` says who
answers: a `url` of a function or API, a `function` that failed, or `lambda`, the API. The rest says what it means here.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lambda_.coordinate.error_responses import raw

FILE = Path(__file__).with_suffix(".jsonl")
EVIDENCE = re.compile(r"test_\w+(::Test\w+)?::test_\w+( \(asserted\))?")


@dataclass(frozen=True)
class Recorded:
    """An answer, and what it means here."""

    status: int
    headers: dict[str, str]
    body: str
    means: dict[str, Any]

    @property
    def raw(self) -> bytes:
        """The answer as it is sent."""
        return raw(self.status, self.body.encode(), self.headers)


def parsed(number: int, line: str) -> tuple[str, str, Recorded]:
    """Return who answers, on what, and the answer. A line that can't be read is named."""
    try:
        found: dict[str, Any] = json.loads(line)
        what, evidence, of = (found.pop(name) for name in ("what", "evidence", "of"))
        if not EVIDENCE.fullmatch(evidence):
            raise ValueError(f"{evidence!r} names no test")
        return of, what, Recorded(found.pop("status"), found.pop("headers"), found.pop("body"), found)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{FILE.name}, line {number}: {error!r}") from error


LINES = [parsed(number, line) for number, line in enumerate(FILE.read_text().splitlines(), 1)]


def recorded(source: str) -> pytest.MarkDecorator:
    """Run a test with each answer of this source, as `answer`."""
    return pytest.mark.parametrize("answer", [pytest.param(each, id=what) for of, what, each in LINES if of == source])
