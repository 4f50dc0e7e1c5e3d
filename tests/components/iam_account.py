"""An AWS account that has only the policies of a deployment, and answers as IAM does who may do what.

The policies are those that the program registers. They are evaluated by ministack's evaluator, which the program
doesn't use and which leaves out what it doesn't know. So every element that could be left out is refused here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ministack.core import iam_evaluator  # pyright: ignore[reportMissingTypeStubs]

from tests.components.aws_answers import (
    ACCOUNT,
    FUNCTION,
    FUNCTION_URL,
    PERMISSION,
    POLICY,
    REST_API,
    ROLE,
    TABLE_POLICY,
    arn,
)
from tests.components.recording import Deployment, Registration

WRITES = (
    *("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem", "StartBulkPutItems"),
    *("PartiQLDelete", "PartiQLInsert", "PartiQLUpdate"),
)
"""The actions that change a table's items. A transaction is authorized as the actions of its items, a statement as
those of PartiQL (DynamoDB guide, "DynamoDB API operations supported by resource-based policies")."""

ELEMENTS = {"Sid", "Effect", "Action", "NotAction", "Resource", "Principal", "Condition"}
OPERATORS = {"ArnLike", "ArnNotEquals", "Bool", "StringEquals", "StringLike"}
KEYS = {
    *("aws:PrincipalArn", "aws:SourceArn"),
    *("kms:EncryptionContext:aws:logs:arn", "kms:EncryptionContext:aws:lambda:FunctionArn", "kms:ViaService"),
    *("lambda:FunctionUrlAuthType", "lambda:InvokedViaFunctionUrl"),
}
"""What the policies may have. A request has a key of these, or it hasn't: that is known of every request below."""

ANYONE = "*"

Statement = Mapping[str, Any]


@dataclass(frozen=True)
class Caller:
    """Who makes a request."""

    arn: str
    """Of a user, of a role (also for its sessions, as `aws:PrincipalArn` is), or of the root user; empty for none."""
    own: Sequence[Statement] = ()
    """The statements of its own policies."""
    service: str = ""
    """The AWS service that calls by itself, like `events.amazonaws.com`."""

    @property
    def account(self) -> str:
        """The caller's account."""
        return self.arn.split(":")[4] if self.arn else ""


EVERYTHING: Sequence[Statement] = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
ANONYMOUS = Caller("")


def user(name: str, *own: Statement, account: str = ACCOUNT) -> Caller:
    """Return a user with these statements."""
    return Caller(f"arn:aws:iam::{account}:user/{name}", own)


ADMINISTRATOR = user("administrator", *EVERYTHING)
ROOT = Caller(f"arn:aws:iam::{ACCOUNT}:root", EVERYTHING)
"""No policy of its own limits the root user; those of resources do (IAM guide, "Policy evaluation logic")."""


def service(name: str) -> Caller:
    """Return an AWS service that calls by itself."""
    return Caller("", service=f"{name}.amazonaws.com")


@dataclass
class Account:
    """The roles of a deployment, and the policies of its resources."""

    deployment: Deployment
    key_policy: Sequence[Statement] = ()
    """The policy of all KMS keys."""
    policies: dict[str, list[Statement]] = field(default_factory=dict[str, list[Statement]])
    """ARN → its own policy. A function's is by its ARN as it is called: with the qualifier."""

    def __post_init__(self) -> None:
        for policy in self.deployment.of(TABLE_POLICY):
            self.policies[policy.inputs["resourceArn"]] = statements_of(policy.inputs["policy"])
        for permission in self.deployment.of(PERMISSION):
            function = self.function(permission.inputs["function"], permission.inputs["region"])
            called = qualified(function, permission.inputs.get("qualifier", ""))
            self.policies.setdefault(called, []).append(_permitted(called, permission.inputs))
        for api in self.deployment.of(REST_API):
            policy = json.loads(api.inputs["body"]).get("x-amazon-apigateway-policy")
            if policy:
                own = self.api(api.inputs["region"])
                text = json.dumps(policy).replace('"execute-api:/', f'"{own}/')
                self.policies[own] = statements_of(text)
        for made in self.deployment.of(ROLE):
            trust = statements_of(made.inputs["assumeRolePolicy"])
            self.policies[self.role(made.inputs["name"]).arn] = [{**each, "Resource": "*"} for each in trust]
        for document in (*self.policies.values(), self.key_policy):
            _check(document)

    def role(self, name: str) -> Caller:
        """Return the role of this name, with its policies."""
        registered = self.deployment.one(ROLE, name=name)
        own = [
            statement
            for policy in self.deployment.of(POLICY)
            if policy.inputs["role"] == name
            for statement in statements_of(policy.inputs["policy"])
        ]
        _check(own)
        return Caller(f"arn:aws:iam::{ACCOUNT}:role{registered.inputs.get('path', '/')}{name}", own)

    def function(self, name: str, region: str) -> str:
        """Return a function's ARN."""
        made = self.deployment.one(FUNCTION, name=name, region=region)
        return arn("lambda", region, f"function:{made.inputs['name']}")

    def api(self, region: str) -> str:
        """Return the ARN by which the region's REST API is called."""
        return arn("execute-api", region, f"abc{region}")

    def allows(self, caller: Caller, action: str, resource: str, **context: str) -> bool:
        """Return whether a request is allowed. In the names of `context`, `__` stands for a colon."""
        policy, required = self._policy_of(action, resource)
        keys = {name.replace("__", ":").lower(): value for name, value in context.items()}
        unknown = keys.keys() - {key.lower() for key in KEYS}
        assert not unknown, unknown
        request = iam_evaluator.EvalContext(
            principal_arn=caller.arn,
            principal_type="",
            principal_account=caller.account,
            action=action,
            resource_arn=resource,
            region="",
            service_context=keys,
        )
        document = {"Version": "2012-10-17", "Statement": policy}
        if not caller.arn:
            result = iam_evaluator.evaluate_resource_policy(document, request, service=caller.service or None)
            return result.decision == "Allow"
        own = iam_evaluator.evaluate(request, [iam_evaluator.parse_policy_document({"Statement": [*caller.own]})])
        result = iam_evaluator.combine_resource_policy(own, request, document, ACCOUNT, required)
        return result.decision == "Allow"

    def calls_url(self, caller: Caller, name: str, region: str) -> bool:
        """Return whether a caller may use the function's URL, which takes two actions."""
        url: Registration = self.deployment.one(FUNCTION_URL, functionName=name, region=region)
        called = qualified(self.function(name, region), url.inputs.get("qualifier", ""))
        kind = url.inputs["authorizationType"]
        actions = {
            "lambda:InvokeFunctionUrl": {"lambda__FunctionUrlAuthType": kind},
            "lambda:InvokeFunction": {"lambda__FunctionUrlAuthType": kind, "lambda__InvokedViaFunctionUrl": "true"},
        }
        return all(self.allows(caller, action, called, **context) for action, context in actions.items())

    def _policy_of(self, action: str, resource: str) -> tuple[list[Statement], bool]:
        """Return the policy of a resource, and whether it must allow even those of its own account."""
        if action.startswith("kms:"):
            return [*self.key_policy], True
        if action.startswith("sts:"):
            return self.policies.get(resource, []), True
        if action.startswith("execute-api:"):
            return self.policies.get("/".join(resource.split("/")[:1]), []), False
        return self.policies.get(resource, []), False


def qualified(function: str, qualifier: str) -> str:
    """Return the ARN by which a function is called."""
    return f"{function}:{qualifier}" if qualifier else function


def statements_of(text: str) -> list[Statement]:
    """Return the statements of a policy."""
    document = json.loads(text)
    assert document["Version"] == "2012-10-17", "an older version reads variables in another way"
    return document["Statement"]


def _permitted(called: str, inputs: Mapping[str, Any]) -> Statement:
    """Return the statement that Lambda adds to a function's policy (Lambda API reference, AddPermission)."""
    who: str = inputs["principal"]
    principal: Any = who
    if who != ANYONE:
        principal = {"Service": who} if who.endswith(".amazonaws.com") else {"AWS": who}
    conditions = {
        ("StringEquals", "lambda:FunctionUrlAuthType"): inputs.get("functionUrlAuthType"),
        ("Bool", "lambda:InvokedViaFunctionUrl"): "true" if inputs.get("invokedViaFunctionUrl") else None,
        ("ArnLike", "aws:SourceArn"): inputs.get("sourceArn"),
    }
    known = {"region", "function", "statementId", "action", "principal", "qualifier"}
    assert set(inputs) <= known | {"functionUrlAuthType", "invokedViaFunctionUrl", "sourceArn"}, inputs
    found = {operator: {key: value} for (operator, key), value in conditions.items() if value is not None}
    statement = {"Effect": "Allow", "Principal": principal, "Action": inputs["action"], "Resource": called}
    return {**statement, "Condition": found} if found else statement


def _check(statements: Sequence[Statement]) -> None:
    for statement in statements:
        assert set(statement) <= ELEMENTS, statement
        assert {"Effect", "Resource"} <= set(statement), statement
        assert ("Action" in statement) != ("NotAction" in statement), statement
        assert statement["Effect"] in ("Allow", "Deny"), statement
        assert set(statement.get("Condition", {})) <= OPERATORS, statement
        assert {key for condition in statement.get("Condition", {}).values() for key in condition} <= KEYS, statement
        principal = statement.get("Principal", ANYONE)
        assert principal == ANYONE or set(principal) <= {"AWS", "Service"}, statement
