"""IAM policy documents, as text."""

import json
from collections.abc import Sequence
from typing import Any


def allow(actions: Sequence[str], resource: str) -> dict[str, Any]:
    """Return a statement that allows these actions on this resource."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": [resource]}


def use_keys(keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return the statement that allows the use of these keys, through DynamoDB only; none if all are empty.

    DynamoDB uses a table's key on behalf of its caller (DynamoDB guide, "DynamoDB encryption at rest: authorizing
    use of a customer managed key"). The key's own policy must allow it, too, or leave it to policies like this.
    """
    if not any(keys):
        return []
    actions = ["Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*"]
    return [
        {
            "Effect": "Allow",
            "Action": [f"kms:{action}" for action in actions],
            "Resource": list(keys),
            "Condition": {"StringLike": {"kms:ViaService": "dynamodb.*"}},
        }
    ]


def policy(statements: Sequence[Any]) -> str:
    """Return a policy document of these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    """Return the policy that lets an AWS service, like `lambda.amazonaws.com`, assume a role."""
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])
