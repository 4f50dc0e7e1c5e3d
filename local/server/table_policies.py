"""Makes ministack enforce the resource policies of DynamoDB tables, which it only stores.

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
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from ministack.core import iam_actions, iam_evaluator, responses  # pyright: ignore[reportMissingTypeStubs]
from ministack.services import dynamodb, iam  # pyright: ignore[reportMissingTypeStubs]

STATEMENTS = {"ExecuteStatement": "", "BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
"""Operation → where its statements are; empty: it is one itself."""


def apply() -> None:
    """Change the modules of ministack in this process."""
    evaluator: Any = iam_evaluator
    actions: Any = iam_actions
    tables: Any = dynamodb
    evaluator._resolve_condition_key = _with_arn_of_role(evaluator._resolve_condition_key)
    evaluator._RESOURCE_POLICY_LOOKUPS["dynamodb"] = ("dynamodb", "table_policy_for_arn")
    tables.table_policy_for_arn = policy_of
    evaluator.enforce = _also_for_root(evaluator)
    actions.dynamodb_resource_arns = _with_named_resource(actions.dynamodb_resource_arns)
    actions.dynamodb_transaction_checks = _with_statements(actions, tables)
    tables._delete_table = _with_its_policy(tables)


def policy_of(resource_arn: str) -> tuple[str, str] | None:
    """Return a table's policy and its account, or None if it has none. Its indexes have the same."""
    tables: Any = dynamodb
    arn = resource_arn.partition("/index/")[0]
    _, _, _, region, account, *_ = f"{arn}:::::".split(":")
    entry = tables._resource_policies.get_scoped(account, region, arn)
    return (entry["Policy"], account) if entry else None


def _with_arn_of_role(resolve: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    @wraps(resolve)
    def resolved(key: str, context: Any) -> Any:
        value = resolve(key, context)
        if key.lower() != "aws:principalarn" or ":assumed-role/" not in str(value):
            return value
        roles: Any = iam
        account, name = value.split(":")[4], value.split("/")[1]
        role = roles._roles.get_scoped(account, None, name)
        return role["Arn"] if role else value

    return resolved


def _also_for_root(evaluator: Any) -> Callable[..., Any]:
    enforce: Callable[..., Any] = evaluator.enforce

    @wraps(enforce)
    def enforced(
        access_key: str, action: str, service: str, region: str, resource_arn: str = "*", service_context: Any = None
    ) -> Any:
        refused = enforce(access_key, action, service, region, resource_arn, service_context)
        found = policy_of(resource_arn) if service == "dynamodb" and refused is None else None
        if found is None:
            return refused
        principal = evaluator.resolve_principal(access_key, responses.get_account_id())
        context = evaluator.EvalContext(
            principal.arn,
            principal.type,
            principal.account,
            action,
            resource_arn,
            region,
            principal_keys=principal.keys,
        )
        result = evaluator.evaluate_resource_policy(found[0], context)
        if result.decision != "Deny":
            return None
        result.resource_policy_arn = resource_arn
        return result

    return enforced


def _with_named_resource(arns_of: Callable[[bytes, str, str], list[str]]) -> Callable[[bytes, str, str], list[str]]:
    @wraps(arns_of)
    def arns(body: bytes, region: str, account: str) -> list[str]:
        try:
            request: Any = json.loads(body or b"{}")
        except ValueError:  # the operation refuses it
            return []
        named = request.get("ResourceArn")
        return [named] if named else arns_of(body, region, account)

    return arns


def _with_statements(actions: Any, tables: Any) -> Callable[[str, bytes, str, str], list[tuple[str, str]]]:
    checks_of: Callable[[str, bytes, str, str], list[tuple[str, str]]] = actions.dynamodb_transaction_checks

    def statements(action: str, body: bytes) -> Iterator[tuple[str, str]]:
        """Return the action and the table of each statement. DynamoDB refuses those that can't be read."""
        request = json.loads(body)
        within = STATEMENTS[action]
        for each in request.get(within, []) if within else [request]:
            try:
                parsed = tables._parse_partiql(each.get("Statement", ""), each.get("Parameters", []))
            except ValueError:
                continue
            read = parsed.get("select", parsed)  # of `EXISTS`
            yield f"dynamodb:PartiQL{read['op'].capitalize()}", read["table"]

    @wraps(checks_of)
    def checks(action: str, body: bytes, region: str, account: str) -> list[tuple[str, str]]:
        operation = action.partition(":")[2]
        if operation not in STATEMENTS:
            return checks_of(action, body, region, account)
        return [
            (each, actions._dynamodb_table_arn(name, region, account)) for each, name in statements(operation, body)
        ]

    return checks


def _with_its_policy(tables: Any) -> Callable[[Any], Any]:
    delete: Callable[[Any], Any] = tables._delete_table

    @wraps(delete)
    def deleted(request: Any) -> Any:
        name = tables._normalize_table_name(request.get("TableName"))
        arn = tables._tables[name]["TableArn"] if name in tables._tables else ""
        response = delete(request)
        if name not in tables._tables:
            tables._resource_policies.pop(arn, None)
        return response

    return deleted
