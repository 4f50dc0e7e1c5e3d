"""IAM policy documents, as text."""

import json
from collections.abc import Sequence
from typing import Any


def allow(actions: Sequence[str], resource: str) -> dict[str, Any]:
    """Return a statement that allows these actions on this resource."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": [resource]}


def policy(statements: Sequence[Any]) -> str:
    """Return a policy document of these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    """Return the policy that lets an AWS service, like `lambda.amazonaws.com`, assume a role."""
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])
