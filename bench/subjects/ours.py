"""This project's minting function, as its Function URL calls it. `COUNT` is a block's size, `LEASE` the setting."""

import json
import os
from types import SimpleNamespace

from mint.handler import handler

COUNT = os.environ.get("COUNT", "")
with open(f"{os.path.dirname(__file__)}/event.json") as file:  # noqa: PTH120, PTH123 (pathlib isn't ours)
    EVENT = json.load(file)
EVENT["rawQueryString"] = f"count={COUNT}" if COUNT else ""
CONTEXT = SimpleNamespace(aws_request_id="bench", get_remaining_time_in_millis=lambda: 10_000)


def mint() -> list[int]:
    """Return the integers of one request."""
    document = json.loads(handler(EVENT, CONTEXT)["body"])
    return document["integers"] if COUNT else [document["integer"]]
