"""One region: its tables and minting function, the alias and the URL by which it is called, and by which pages."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws

from global_integers_core.names import LIVE_ALIAS, MINTING_ALIAS

from .function import PythonFunction, allow
from .names import MOVES, STAYS, ResourceNames
from .settings.args import Settings, minting_environment
from .settings.aws_regions import partitions
from .settings.rules import accounts
from .table import table, use_keys

HEADERS = ("accept", "content-type", "idempotency-key")
SIGNED_HEADERS = ("authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
"""What a signature adds to a request (IAM guide, "Create a signed AWS API request")."""


def cors(settings: Settings) -> dict[str, Any]:
    """Return what pages of the allowed origins may do: all that the API offers, and read the whole response.

    Lambda's `FunctionUrlCors` and API Gateway's `ApiCorsConfiguration` both have these arguments.
    """
    return {
        "allow_origins": list(settings.cors_origins),
        "allow_methods": ["GET", "POST", "PUT"] if settings.open_counters else ["GET", "POST"],
        "allow_headers": [*HEADERS, *(SIGNED_HEADERS if settings.signed else ())],
        "expose_headers": ["idempotency-replayed", "retry-after"],
        "max_age": 3600,
    }


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
        settings: Settings,
        region: str,
        code: pulumi.AssetArchive,
        default_counter: pulumi.Output[str],
        witness: pulumi.Resource,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:RegionalCounter", name, None, opts)
        names, kms_key, leaving = settings.names, settings.kms_key(region), region in settings.leaving
        protect = settings.protect and not leaving
        child = pulumi.ResourceOptions(parent=self)

        make = partial(table, region=region, parent=self, protect=protect, kms_key=kms_key, after=[witness])
        self.table = make(f"{name}-table", names.counters_table, stream=True)
        self.receipts = make(f"{name}-receipts", names.receipts_table, key="receipt", expires="expires")
        # The coordinator is created after the tables, so its own output can't be used.
        coordinator = self.table.arn.apply(lambda arn: _coordinator(arn, settings.home, names))
        self.mint = PythonFunction(
            f"{name}-mint",
            settings,
            region,
            function_name=names.mint_function,
            role_name=names.mint_role(region),
            handler="mint.handler.handler",
            code=code,
            environment={
                "DEFAULT_COUNTER": default_counter,
                **minting_environment(vars(settings)),
            },
            own_environment={
                "COUNTERS_TABLE": self.table.name,
                "RECEIPTS_TABLE": self.receipts.name,
                "COORDINATOR": coordinator,
                **({"LEAVING": ",".join(settings.regions)} if leaving else {}),
            },
            statements=pulumi.Output.all(self.table.arn, self.receipts.arn, coordinator).apply(
                lambda arns: [*_statements(*arns, open_counters=settings.open_counters), *use_keys([kms_key])]
            ),
            memory_size=settings.memory_size,
            timeout=30 if settings.open_counters else 10,
            log_retention_days=settings.log_retention_days,
            # 0 pauses the region: Lambda answers 429.
            reserved_concurrency=0 if region in settings.paused else settings.reserved_concurrency,
            after=after,
            opts=child,
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
        settings: Settings,
        region: str,
        mint: PythonFunction,
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
        if settings.function_urls:
            function_url = aws.lambda_.FunctionUrl(
                f"{name}-url",
                region=region,
                function_name=mint.name,
                qualifier=alias.name,
                authorization_type=settings.authorization,
                cors=aws.lambda_.FunctionUrlCorsArgs(**cors(settings)) if settings.cors_origins else None,
                opts=child,
            )
            self._permit(name, region, url_permissions(settings, region), function_url)
            self.url = _once(function_url.function_url, self.statements)
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


def url_permissions(settings: Settings, region: str) -> dict[str, dict[str, Any]]:
    """Return what the alias's policy allows to whom: statement → arguments of a `Permission`.

    Everyone if nobody signs; otherwise the accounts that `callers` names. The function's own account needs no
    statement, and one changes nothing for it: its callers' own policies decide (IAM guide, "Cross-account policy
    evaluation logic"). Since October 2025, Lambda has asked for both actions (Lambda guide, "Control access to function
    URLs"). An account is named by its ARN, as Lambda stores it: a refresh would take a number for another principal.
    """
    principals = {"public": "*"}
    if settings.signed:
        partition = partitions()[region]
        principals = {f"account-{each}": f"arn:{partition}:iam::{each}:root" for each in accounts(settings.callers)}
    found: dict[str, dict[str, Any]] = {}
    for who, principal in principals.items():
        url = {"action": "lambda:InvokeFunctionUrl", "function_url_auth_type": settings.authorization}
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
