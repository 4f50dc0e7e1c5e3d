"""A recorded answer that can't be read, or that nobody recorded, is named."""

import json

import pytest

from tests.lambda_.recorded import FILE, parsed

GOOD = json.loads(FILE.read_text().splitlines()[0])


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        json.dumps({key: value for key, value in GOOD.items() if key != "body"}),
        json.dumps({**GOOD, "evidence": "the guide"}),
        json.dumps({**GOOD, "evidence": None}),
    ],
)
def test_a_bad_line_is_named(line: str) -> None:
    assert parsed(3, json.dumps(GOOD))[:2] == ("url", GOOD["what"])
    with pytest.raises(ValueError, match=r"^recorded\.jsonl, line 3: "):
        parsed(3, line)
