"""IAM policy documents, as text."""

import json
from collections.abc import Sequence
from typing import Any


def allow(actions: Sequence[str], resource: str) -> dict[str, Any]:
    """A statement of a role's policy."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": [resource]}


def policy(statements: Sequence[Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    """Who may take on a role: an AWS service, like `lambda.amazonaws.com`."""
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])
