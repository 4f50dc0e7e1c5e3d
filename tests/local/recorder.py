"""A function for the tests: it appends its events to the file `CALLS`, waits or fails if asked to, and echoes."""

import json
import os
import time
from pathlib import Path
from typing import Any

RECORDER = Path(__file__)
"""This file, which is the whole function."""


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Record the event. With `until`, wait until there is a file of this name; with `fail`, raise it."""
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(json.dumps(event) + "\n")
    while "until" in event and not Path(event["until"]).exists():
        time.sleep(0.02)
    if "fail" in event:
        raise RuntimeError(event["fail"])
    return {"asked": event}
