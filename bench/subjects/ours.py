"""This project's minting function, as its Function URL calls it. `COUNT` is a block's size, `LEASE` the setting."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

from mint.handler import handler

COUNT = os.environ.get("COUNT", "")
EVENT = json.loads((Path(__file__).with_name("event.json")).read_text())
EVENT["rawQueryString"] = f"count={COUNT}" if COUNT else ""
CONTEXT = SimpleNamespace(aws_request_id="bench", get_remaining_time_in_millis=lambda: 10_000)


def mint() -> list[int]:
    """Return the integers of one request."""
    document = json.loads(handler(EVENT, CONTEXT)["body"])
    return document["integers"] if COUNT else [document["integer"]]
