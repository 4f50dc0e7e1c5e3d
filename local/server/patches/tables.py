"""The resource policies of DynamoDB tables, which ministack only stores.

- A request is refused if the table's policy denies it, also that of the account's root user, whom ministack asks for no
  policy at all (IAM guide, "Policy evaluation for requests within a single account").
- `aws:PrincipalArn` is the ARN of the role, with its path, not that of the session (IAM guide, "AWS global condition
  context keys").
- A PartiQL statement is authorized as `PartiQLInsert`, `PartiQLUpdate`, `PartiQLDelete` or `PartiQLSelect` on its table
  (DynamoDB guide, "IAM security policies with PartiQL for DynamoDB").
- A call that names a table by `ResourceArn` (of its policy, its tags) is authorized on that table.
- A table's policy is deleted with the table.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import ministack, replaces

EVALUATOR, IAM, TABLES = ministack("core.iam_evaluator"), ministack("core.iam_actions"), ministack("services.dynamodb")

STATEMENTS = {"ExecuteStatement": "", "BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
"""Operation → where its statements are; empty: it is one itself."""

ALL = EVALUATOR.parse_policy_document({"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})


@replaces(EVALUATOR, "_resource_policy", "lookup = _RESOURCE_POLICY_LOOKUPS.get(service)")
def of_a_table(find: Callable[..., Any], service: str, resource_arn: str) -> Any:
    """Return a table's policy and its account, or None if it has none. Its indexes have the same."""
    if service != "dynamodb":
        return find(service, resource_arn)
    arn = resource_arn.partition("/index/")[0]
    _, _, _, region, account, *_ = f"{arn}:::::".split(":")
    entry = TABLES._resource_policies.get_scoped(account, region, arn)
    return (entry["Policy"], account) if entry else None


@replaces(EVALUATOR, "resolve_principal", "policies = None")
def also_for_root(resolve: Callable[..., Any], *arguments: Any) -> Any:
    """Return a caller, of whom resource policies are asked, too: root is one who may all."""
    found = resolve(*arguments)
    return replace(found, policies=[ALL]) if getattr(found, "policies", ALL) is None else found


@replaces(EVALUATOR, "_resolve_condition_key", "return ctx.principal_arn")
def with_arn_of_role(resolve: Callable[..., Any], key: str, context: Any) -> Any:
    """Return the value of a key of a condition."""
    value = resolve(key, context)
    if key.lower() != "aws:principalarn" or ":assumed-role/" not in str(value):
        return value
    account, name = value.split(":")[4], value.split("/")[1]
    role = ministack("services.iam")._roles.get_scoped(account, None, name)
    return role["Arn"] if role else value


@replaces(IAM, "dynamodb_resource_arns", 'table = data.get("TableName") if isinstance(data, dict) else None')
def with_named_resource(arns_of: Callable[..., list[str]], body: bytes, *place: str) -> list[str]:
    """Return the ARNs of a request's tables."""
    try:
        named = json.loads(body or b"{}").get("ResourceArn")
    except ValueError:  # the operation refuses it
        return []
    return [named] if named else arns_of(body, *place)


@replaces(IAM, "dynamodb_transaction_checks", '("dynamodb:TransactWriteItems", "dynamodb:TransactGetItems")')
def with_statements(checks_of: Callable[..., Any], action: str, body: bytes, *place: str) -> list[tuple[str, str]]:
    """Return the action and the table of each statement. DynamoDB refuses those that can't be read."""
    operation = action.partition(":")[2]
    if operation not in STATEMENTS:
        return checks_of(action, body, *place)
    request, within, checks = json.loads(body), STATEMENTS[operation], list[tuple[str, str]]()
    for each in request.get(within, []) if within else [request]:
        try:
            parsed = TABLES._parse_partiql(each.get("Statement", ""), each.get("Parameters", []))
        except ValueError:
            continue
        read = parsed.get("select", parsed)  # of `EXISTS`
        checks.append((f"dynamodb:PartiQL{read['op'].capitalize()}", IAM._dynamodb_table_arn(read["table"], *place)))
    return checks


@replaces(TABLES, "_delete_table", "deleted = _tables.pop(name)")
def with_its_policy(delete: Callable[[Any], Any], request: Any) -> Any:
    """Delete a table's policy with it."""
    name = TABLES._normalize_table_name(request.get("TableName"))
    arn = TABLES._tables[name]["TableArn"] if name in TABLES._tables else ""
    response = delete(request)
    if name not in TABLES._tables:
        TABLES._resource_policies.pop(arn, None)
    return response
