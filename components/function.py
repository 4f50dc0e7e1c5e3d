"""A Lambda function in Python: its archive, its log group, role and policy.

Pulumi zips an archive with fixed times, so it is byte for byte the same until a file changes.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_aws as aws

from .names import STAYS
from .settings.subjects import Roles

RUNTIME = "python3.14"
"""The newest Python that the tests run on (.github/workflows/test.yml). The functions are deployed on it."""

LOG_LEVEL = "INFO"
"""The lowest level of the functions' lines that Lambda keeps. With WARN, errors would be lost: Lambda takes a line
without `level` for INFO (Lambda guide, "Using Lambda advanced logging controls with Python"). Before version 4.0.4,
Python's runtime interface client wrote the level of uncaught errors and failed imports as `log_level`
(aws-lambda-python-runtime-interface-client, issues 202 and 220)."""


class PythonFunction(pulumi.ComponentResource):
    """A function that can be called once it exists, since its role's policy then exists too.

    Each change of its code or settings publishes a version, and so does another role of the same name: the grant by
    which Lambda decrypts a function's environment hangs on the role's unique id (Lambda guide, "Troubleshoot
    configuration issues in Lambda": `KMSAccessDeniedException`). Its role gets the right to write the function's own
    logs, and what `statements` allow: a new version may do so before it exists. What the former version was allowed
    stays allowed until `allow_no_more`, since IAM isn't versioned.

    `kms_key` encrypts its logs and environment; if it is None, keys of AWS do. The function changes after `after`.
    `environment` is the same in all regions, `own_environment` the region's. `timeout` is in seconds; a
    `reserved_concurrency` of -1 is no limit, 0 lets nothing run. The role is a child of `above`: so it stays in
    Pulumi's state when a lost region is taken out of it, and the next deployment deletes it.
    """

    name: pulumi.Output[str]
    version: pulumi.Output[str]
    """The number of the version that was published last."""
    code: str
    """The version of its code, like `1.0.0+3f2a9c81d0b7`."""
    build: str
    """12 digits that change with its code and its settings, but are the same in all regions. The function knows them:
    so it is noticed if a version was published without a change."""
    digest: pulumi.Output[str]
    """It changes with its code, its settings and its policy."""
    function: aws.lambda_.Function
    role: aws.iam.Role
    policy: aws.iam.RolePolicy
    """What a version that is deployed now may do."""

    def __init__(
        self,
        name: str,
        region: str,
        *,
        kms_key: pulumi.Input[str] | None,
        roles: Roles,
        function_name: str,
        role_name: str,
        description: str,
        handler: str,
        code: pulumi.AssetArchive,
        environment: Mapping[str, str],
        own_environment: Mapping[str, pulumi.Input[str]],
        statements: pulumi.Input[Sequence[Mapping[str, Any]]],
        memory_size: int,
        timeout: int,
        log_retention_days: int,
        above: pulumi.Resource,
        reserved_concurrency: int = -1,
        after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:PythonFunction", name, None, opts)
        logs = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/aws/lambda/{function_name}",
            region=region,
            retention_in_days=log_retention_days,
            kms_key_id=kms_key,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=STAYS),
        )
        self.code = version_in(code)
        described = [RUNTIME, description, handler, self.code, memory_size, timeout, LOG_LEVEL]
        self.build = _digest([*described, dict(environment)])[:12]
        may = f"What {function_name} may do in {region}."
        self.role = role(f"{name}-role", role_name, may, "lambda.amazonaws.com", roles, above)
        own_environment = {**own_environment, "ROLE": self.role.unique_id}
        self._document = pulumi.Output.all(logs.arn, statements, kms_key).apply(
            lambda known: policy(
                [
                    # Of all streams of the group: Lambda names them.
                    allow(["logs:CreateLogStream", "logs:PutLogEvents"], f"{known[0]}:*"),
                    *known[1],
                    *_read_environment(known[2], known[0], function_name),
                ]
            )
        )
        self.policy = aws.iam.RolePolicy(
            f"{name}-next-policy",
            role=self.role.name,
            name="next",
            policy=self._document,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        self.function = aws.lambda_.Function(
            f"{name}-function",
            name=function_name,
            description=description,
            region=region,
            role=self.role.arn,
            runtime=RUNTIME,
            architectures=["arm64"],
            handler=handler,
            code=code,
            publish=True,
            memory_size=memory_size,
            timeout=timeout,
            reserved_concurrent_executions=reserved_concurrency,
            environment=aws.lambda_.FunctionEnvironmentArgs(
                variables={**environment, **own_environment, "BUILD": self.build}
            ),
            kms_key_arn=kms_key,
            # A successful mint writes no line: Lambda's REPORT lines (INFO) alone would add half its price.
            logging_config=aws.lambda_.FunctionLoggingConfigArgs(
                log_format="JSON", log_group=logs.name, application_log_level=LOG_LEVEL, system_log_level="WARN"
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.policy, *after], ignore_changes=STAYS),
        )
        self.name = self.function.name
        self.version = self.function.version
        # Of what is asked for, not of what AWS returns: after a refresh, AWS may return the same in another form.
        asked = [self.build, own_environment, reserved_concurrency, kms_key, self._document]
        self.digest = pulumi.Output.all(*asked).apply(_digest)
        self.register_outputs({"name": self.name, "arn": self.function.arn})

    def allow_no_more(self, after: Sequence[pulumi.Resource], *, later: bool = False) -> None:
        """Take away what only a former version needed, after `after`: once nobody calls it any more.

        Where that can't be now, it stays as it is until a deployment without `later`.
        """
        ignored = ["policy"] if later else []
        aws.iam.RolePolicy(
            f"{self._name}-own-policy",
            role=self.role.name,
            name="own",
            policy=self._document,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after, ignore_changes=ignored),
        )


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _read_environment(kms_key: str | None, logs_arn: str, function_name: str) -> list[dict[str, Any]]:
    """Return the statement that allows a function to read its environment if this key encrypts it; else none.

    Lambda decrypts it with the rights of the function's role when an execution environment starts, and names the
    function in the encryption context (Lambda guide, "Securing Lambda environment variables").
    """
    if kms_key is None:
        return []
    partition, region, account = (logs_arn.split(":")[part] for part in (1, 3, 4))
    function = f"arn:{partition}:lambda:{region}:{account}:function:{function_name}"
    named = {"kms:EncryptionContext:aws:lambda:FunctionArn": [function, f"{function}:*"]}
    return [{**allow(["kms:Decrypt"], kms_key), "Condition": {"StringLike": named}}]


HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

FUNCTIONS = HERE / "lambda" if (HERE / "lambda").exists() else ROOT / "lambda"
"""The functions' sources: beside this package where it is installed, beside its folder in a checkout."""

SHARED = ROOT / "global_integers_core"
"""What the functions share with the program."""

PROJECT = ROOT / "pyproject.toml"
"""It has the project's version in a checkout. Where the project is installed, there is none."""

VERSION = "version.txt"
"""The file of the archive that says which version of the code it is."""


def archive(function: str, *shared: str) -> pulumi.AssetArchive:
    """Return the archive of a function: the files that `archived` names, and their version as `version.txt`."""
    files = archived(function, *shared)
    sources = {name: pulumi.FileAsset(str(path)) for name, path in files.items()}
    return pulumi.AssetArchive({**sources, VERSION: pulumi.StringAsset(f"{version(files)}\n")})


def version(files: Mapping[str, Path]) -> str:
    """Return the version of these files, like `1.0.0+3f2a9c81d0b7`: the project's, and 12 digits of their hash."""
    content = sha256()
    for name, path in sorted(files.items()):
        content.update(f"{name} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    checkout = tomllib.loads(PROJECT.read_text(encoding="utf-8")) if PROJECT.exists() else None
    release = checkout["project"]["version"] if checkout else installed_version("global-integers")
    return f"{release}+{content.hexdigest()[:12]}"


def version_in(code: pulumi.AssetArchive) -> str:
    """Return the version of an archive's files. It is known in a preview."""
    return cast("pulumi.StringAsset", code.assets[VERSION]).text.strip()


def archived(function: str, *shared: str) -> dict[str, Path]:
    """Return a function's files by their names in its archive: these folders of `lambda/`, and what all parts share.

    Raises:
        FileNotFoundError: there is no such folder, or it has no `.py` files.
    """
    files: dict[str, Path] = {}
    for folder in (*(FUNCTIONS / name for name in (function, *shared)), SHARED):
        found = sorted(
            path
            for path in folder.rglob("*")
            if path.suffix in (".py", ".html") and "tests" not in path.relative_to(folder).parts
        )
        if not found:
            raise FileNotFoundError(f"{folder.relative_to(ROOT)} has no .py files")
        files |= {path.relative_to(folder.parent).as_posix(): path for path in found}
    return files


def allow(actions: Sequence[str], *resources: str) -> dict[str, Any]:
    """Return a statement that allows these actions on these resources."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def policy(statements: Sequence[Any]) -> str:
    """Return a policy document of these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    """Return the policy that lets an AWS service, like `lambda.amazonaws.com`, assume a role."""
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])


def role(
    resource: str, name: str, description: str, service: str, roles: Roles, parent: pulumi.Resource
) -> aws.iam.Role:
    """Register a role as a child of `parent`, for a service like `lambda.amazonaws.com`.

    Later changes of name and path are ignored: they would replace the role, and a function whose role is deleted stops.
    A role is deleted with its policies, also with those that Pulumi doesn't know any more.
    """
    return aws.iam.Role(
        resource,
        name=name,
        description=description,
        path=None if roles.path == "/" else roles.path,
        permissions_boundary=roles.permissions_boundary,
        assume_role_policy=trusting(service),
        force_detach_policies=True,
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=["path", "name"]),
    )
