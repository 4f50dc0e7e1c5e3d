"""One region: its tables and minting function, the alias and the URL by which it is called, and by which pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws

from global_integers_core.names import LIVE_ALIAS, MINTING_ALIAS

from .function import PythonFunction, allow
from .names import MOVES, STAYS, ResourceNames
from .settings.aws_regions import partitions
from .settings.rules import accounts
from .settings.subjects import Access, Region, Roles
from .table import arn_in, table, use_keys

HEADERS = ("accept", "content-type", "idempotency-key")
SIGNED_HEADERS = ("authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
"""What a signature adds to a request (IAM guide, "Create a signed AWS API request")."""


def cors(access: Access) -> dict[str, Any]:
    """Return what pages of the allowed origins may do: all that the API offers, and read the whole response.

    Lambda's `FunctionUrlCors` and API Gateway's `ApiCorsConfiguration` both have these arguments.
    """
    return {
        "allow_origins": list(access.cors_origins),
        "allow_methods": ["GET", "POST", "PUT"] if access.open_counters else ["GET", "POST"],
        "allow_headers": [*HEADERS, *(SIGNED_HEADERS if access.signed else ())],
        "expose_headers": ["idempotency-replayed", "retry-after"],
        "max_age": 3600,
    }


@dataclass(frozen=True)
class RegionalCounterArgs:
    """What the tables and minting functions of all regions have in common."""

    names: ResourceNames
    home: str
    """The region of the coordinator."""
    roles: Roles
    protect: bool
    """Whether the tables of regions that stay can't be deleted."""
    code: pulumi.AssetArchive
    environment: Mapping[str, str]
    memory_size: int
    log_retention_days: int
    reserved_concurrency: int
    open_counters: bool
    """Whether callers may create counters and list them, so the function scans the table."""


class RegionalCounter(pulumi.ComponentResource):
    """A region's tables and minting function.

    The tables are deleted before `witness`. The function changes after `after`: once callers of the wave before reach
    its new versions.
    """

    table: aws.dynamodb.Table
    """The counters table."""
    receipts: aws.dynamodb.Table
    mint: PythonFunction
    ready: list[pulumi.Resource]
    """What a call of a version needs."""

    def __init__(
        self,
        name: str,
        region: Region,
        args: RegionalCounterArgs,
        *,
        witness: pulumi.Resource,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:RegionalCounter", name, None, opts)
        names, kms_key, protect = args.names, region.kms_key, args.protect and not region.leaving
        make = partial(table, region=region.name, parent=self, protect=protect, kms_key=kms_key, after=[witness])
        self.table = make(f"{name}-table", names.counters_table, stream=True)
        self.receipts = make(f"{name}-receipts", names.receipts_table, key="receipt", expires="expires")
        # The coordinator is created after the tables, so its own output can't be used.
        counters, receipts = arn_in(region.name, self.table), arn_in(region.name, self.receipts)
        coordinator = counters.apply(lambda arn: _coordinator(arn, args.home, names))
        self.mint = PythonFunction(
            f"{name}-mint",
            region.name,
            kms_key=kms_key,
            roles=args.roles,
            function_name=names.mint_function,
            role_name=names.mint_role(region.name),
            description="Mints integers.",
            handler="mint.handler.handler",
            code=args.code,
            environment=args.environment,
            own_environment={
                "COUNTERS_TABLE": self.table.name,
                "RECEIPTS_TABLE": self.receipts.name,
                "COORDINATOR": coordinator,
                **({"LEAVING": ",".join(region.successors)} if region.leaving else {}),
            },
            statements=pulumi.Output.all(counters, receipts, coordinator, kms_key).apply(
                lambda arns: [*_statements(*arns[:3], open_counters=args.open_counters), *use_keys(arns[3:])]
            ),
            memory_size=args.memory_size,
            timeout=30 if args.open_counters else 10,
            log_retention_days=args.log_retention_days,
            # 0 pauses the region: Lambda answers 429.
            reserved_concurrency=0 if region.paused else args.reserved_concurrency,
            after=after,
            above=opts.parent or self,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ready = [self.table, self.receipts, self.mint.function]
        self.register_outputs({"table": self.table.name})


class RegionalAlias(pulumi.ComponentResource):
    """The alias of a region's minting function, and its Function URL, which leads to the alias.

    Both are created after `after`, the check of the version that the alias leads to at first. From then on, only the
    coordinator moves the alias.
    """

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    function_name: pulumi.Output[str]
    url: pulumi.Output[str] | None
    """Known once it can be called. None if it has no Function URL."""
    statements: list[pulumi.Resource]
    """The statements of the alias's policy so far. A further one is added after them: if two are added at the same
    time, Lambda may lose one."""

    def __init__(
        self,
        name: str,
        region: str,
        mint: PythonFunction,
        *,
        access: Access,
        function_url: bool,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:RegionalAlias", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        alias = aws.lambda_.Alias(
            f"{name}-live",
            region=region,
            name=LIVE_ALIAS,
            description="Not released yet.",
            function_name=mint.name,
            function_version=mint.version,
            opts=pulumi.ResourceOptions(parent=self, depends_on=after, ignore_changes=[*STAYS, *MOVES]),
        )
        self.name, self.arn, self.function_name = alias.name, alias.arn, mint.name
        self.url, self.statements = None, []
        if function_url:
            made = aws.lambda_.FunctionUrl(
                f"{name}-url",
                region=region,
                function_name=mint.name,
                qualifier=alias.name,
                authorization_type=access.authorization,
                cors=aws.lambda_.FunctionUrlCorsArgs(**cors(access)) if access.cors_origins else None,
                opts=child,
            )
            self._permit(name, region, url_permissions(access, region), made)
            self.url = _once(made.function_url, self.statements)
        self.register_outputs({"url": self.url, "arn": self.arn})

    def _permit(
        self, name: str, region: str, permissions: Mapping[str, Mapping[str, Any]], function_url: pulumi.Resource
    ) -> None:
        """Add these statements to the alias's policy, one after the other.

        The provider adds those of a public URL itself when it creates one, but not when a signed one is made public. So
        these have statement ids of their own.
        """
        for statement, what in permissions.items():
            permission = aws.lambda_.Permission(
                f"{name}-{statement}",
                region=region,
                function=self.function_name,
                qualifier=self.name,
                statement_id=f"global-integers-{statement}",
                **what,
                opts=pulumi.ResourceOptions(parent=self, depends_on=self.statements[-1:] or [function_url]),
            )
            self.statements.append(permission)


def _once(url: pulumi.Output[str], made: Sequence[pulumi.Resource]) -> pulumi.Output[str]:
    return pulumi.Output.all(url, *(resource.urn for resource in made)).apply(lambda known: str(known[0]))


def url_permissions(access: Access, region: str) -> dict[str, dict[str, Any]]:
    """Return what the alias's policy allows to whom: statement → arguments of a `Permission`.

    Everyone if nobody signs; otherwise the accounts that `callers` names. The function's own account needs no
    statement, and one changes nothing for it: its callers' own policies decide (IAM guide, "Cross-account policy
    evaluation logic"). Since October 2025, Lambda has asked for both actions (Lambda guide, "Control access to function
    URLs"). An account is named by its ARN, as Lambda stores it: a refresh would take a number for another principal.
    """
    principals = {"public": "*"}
    if access.signed:
        partition = partitions()[region]
        principals = {f"account-{each}": f"arn:{partition}:iam::{each}:root" for each in accounts(access.callers)}
    found: dict[str, dict[str, Any]] = {}
    for who, principal in principals.items():
        url = {"action": "lambda:InvokeFunctionUrl", "function_url_auth_type": access.authorization}
        invoke = {"action": "lambda:InvokeFunction", "invoked_via_function_url": True}
        found |= {f"{who}-url": {"principal": principal, **url}, f"{who}-invoke": {"principal": principal, **invoke}}
    return found


def _coordinator(table_arn: str, home: str, names: ResourceNames) -> str:
    """Return the ARN of the alias by which minting functions call the coordinator. They may call nothing else."""
    partition, account = table_arn.split(":")[1], table_arn.split(":")[4]
    return f"arn:{partition}:lambda:{home}:{account}:function:{names.coordinate_function}:{MINTING_ALIAS}"


def _statements(counters: str, receipts: str, coordinator: str, *, open_counters: bool) -> list[dict[str, Any]]:
    scan = ["dynamodb:Scan"] if open_counters else []
    return [
        allow(["dynamodb:GetItem", "dynamodb:UpdateItem", *scan], counters),
        allow(["dynamodb:GetItem", "dynamodb:PutItem"], receipts),
        allow(["lambda:InvokeFunction"], coordinator),
    ]
