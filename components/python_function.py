"""A Lambda function in Python with its log group, role and policy."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from .archive import version_in
from .policy import allow, policy
from .role import RoleRules, role
from .staying import STAYS

RUNTIME = "python3.14"
"""The newest Python that the tests run on (.github/workflows/test.yml). The functions are deployed on it."""

LOG_LEVEL = "INFO"
"""The lowest level of the functions' lines that Lambda keeps. With WARN, errors would be lost: Lambda takes a line
without `level` for INFO (Lambda guide, "Using Lambda advanced logging controls with Python"). Before version 4.0.4,
Python's runtime interface client wrote the level of uncaught errors and failed imports as `log_level`
(aws-lambda-python-runtime-interface-client, issues 202 and 220)."""


@dataclass
class PythonFunctionArgs:
    """One function."""

    name: str
    role_name: str
    role_rules: RoleRules
    region: str
    handler: str
    code: pulumi.AssetArchive
    environment: Mapping[str, pulumi.Input[str]]
    statements: pulumi.Input[Sequence[Mapping[str, Any]]]
    """IAM statements of the role, besides the right to write the function's own logs."""
    memory_size: int
    timeout: int
    """Seconds."""
    log_retention_days: int
    reserved_concurrency: int = -1
    """Limit on concurrent executions. -1 is no limit; 0 lets nothing run."""
    role_description: pulumi.Input[str] | None = None
    """The role's description at its creation. It never changes, because a role is never replaced (`role.py`):
    Pulumi doesn't apply `ignore_changes` to the inputs of a replacement."""
    kms_key: str = ""
    """The ARN of the key that encrypts its logs. Empty: a key of AWS does."""
    after: Sequence[pulumi.Resource] = ()
    """What must be there before the function and its policy change."""


class PythonFunction(pulumi.ComponentResource):
    """A function that can be called once it exists, since its role's policy then exists too.

    Outputs: `name` and `arn` of the function; `version` of its code; `digest`, which changes with its
    code, its settings and its policy.
    """

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    version: str
    digest: pulumi.Output[str]
    function: aws.lambda_.Function
    role: aws.iam.Role
    policy: aws.iam.RolePolicy

    def __init__(self, name: str, args: PythonFunctionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:PythonFunction", name, None, opts)
        logs = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/aws/lambda/{args.name}",
            region=args.region,
            retention_in_days=args.log_retention_days,
            kms_key_id=args.kms_key or None,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=STAYS),
        )
        self.role = role(
            f"{name}-role",
            args.role_name,
            "lambda.amazonaws.com",
            args.role_rules,
            self,
            description=args.role_description,
        )
        document = pulumi.Output.all(logs.arn, args.statements).apply(_policy_with_logs)
        self.policy = aws.iam.RolePolicy(
            f"{name}-policy",
            role=self.role.name,
            name="own",
            policy=document,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
        )
        self.function = aws.lambda_.Function(
            f"{name}-function",
            name=args.name,
            region=args.region,
            role=self.role.arn,
            runtime=RUNTIME,
            architectures=["arm64"],
            handler=args.handler,
            code=args.code,
            memory_size=args.memory_size,
            timeout=args.timeout,
            reserved_concurrent_executions=args.reserved_concurrency,
            environment=aws.lambda_.FunctionEnvironmentArgs(variables=args.environment),
            # A successful mint writes no line: Lambda's REPORT lines (INFO) alone would cost as much as the mint.
            logging_config=aws.lambda_.FunctionLoggingConfigArgs(
                log_format="JSON",
                log_group=logs.name,
                application_log_level=LOG_LEVEL,
                system_log_level="WARN",
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.policy, *args.after], ignore_changes=STAYS),
        )
        self.name = self.function.name
        self.arn = self.function.arn
        self.version = version_in(args.code)
        settings = [
            *(RUNTIME, args.handler, self.version),
            *(args.memory_size, args.timeout, LOG_LEVEL, args.reserved_concurrency),
        ]
        # Of what is asked for, not of what AWS returns: after a refresh, AWS may return the same in another form.
        self.digest = pulumi.Output.all(settings, args.environment, document).apply(_digest)
        self.register_outputs({"name": self.name, "arn": self.arn})


def _digest(resolved: list[Any]) -> str:
    return hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()


def _policy_with_logs(resolved: list[Any]) -> str:
    logs_arn, statements = resolved
    # Of all streams of the group: Lambda names them.
    own_logs = allow(["logs:CreateLogStream", "logs:PutLogEvents"], f"{logs_arn}:*")
    return policy([own_logs, *statements])
