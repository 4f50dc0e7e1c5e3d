"""What one region has: the counter table, the minting function and its URL."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from .archive import archive
from .policy import allow
from .python_function import PythonFunction, PythonFunctionArgs
from .settings import Settings
from .table import TableArgs, table


@dataclass
class RegionalCounterArgs:
    region: str
    prefix: str
    """`<project>-<stack>`, which every name begins with."""
    settings: Settings


class RegionalCounter(pulumi.ComponentResource):
    """Outputs: `url`, where the region mints, and `table`, which the coordinator lays out."""

    url: pulumi.Output[str]
    table: aws.dynamodb.Table

    def __init__(self, name: str, args: RegionalCounterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:RegionalCounter", name, None, opts)
        settings, region = args.settings, args.region
        child = pulumi.ResourceOptions(parent=self)

        self.table = table(
            f"{name}-table", TableArgs(f"{args.prefix}-counters", region, settings.protect, stream=True), self
        )
        receipts = table(
            f"{name}-receipts",
            TableArgs(f"{args.prefix}-receipts", region, settings.protect, key="receipt", expires="expires"),
            self,
        )
        coordinator = self.table.arn.apply(lambda arn: _coordinator(arn, settings.home, args.prefix))
        mint = PythonFunction(
            f"{name}-mint",
            PythonFunctionArgs(
                name=f"{args.prefix}-mint",
                role_name=f"{args.prefix}-mint-{region}",
                region=region,
                handler="mint.handler.handler",
                code=archive("mint", "components/names.py"),
                environment={
                    "COUNTERS_TABLE": self.table.name,
                    "RECEIPTS_TABLE": receipts.name,
                    "DEFAULT_COUNTER": settings.counters[0],
                    "IDEMPOTENCY_HOURS": str(settings.idempotency_hours),
                    "LEASE": str(settings.lease),
                    **({"COORDINATOR": coordinator} if settings.open_counters else {}),
                },
                statements=pulumi.Output.all(self.table.arn, receipts.arn, coordinator).apply(
                    lambda arns: _statements(*arns, open_counters=settings.open_counters)
                ),
                memory_size=settings.memory_size,
                timeout=30 if settings.open_counters else 10,
                log_retention_days=settings.log_retention_days,
                log_level="WARN",
                reserved_concurrency=settings.reserved_concurrency,
            ),
            opts=child,
        )
        function_url = aws.lambda_.FunctionUrl(
            f"{name}-url",
            region=region,
            function_name=mint.name,
            authorization_type=settings.authorization,
            cors=_cors(settings) if settings.cors_origins else None,
            opts=child,
        )
        self.url = function_url.function_url
        if settings.authorization == "NONE":
            self._open_to_everyone(name, region, mint)
        self.register_outputs({"url": self.url, "table": self.table.name})

    def _open_to_everyone(self, name: str, region: str, mint: PythonFunction) -> None:
        """Both statements that a public URL needs since October 2025 (Lambda guide, "Control access to function URLs").

        The provider adds them itself when it creates a public URL, but not when a signed one is made
        public; hence these, with statement ids of their own.
        """
        child = pulumi.ResourceOptions(parent=self)
        aws.lambda_.Permission(
            f"{name}-public-url",
            region=region,
            function=mint.name,
            statement_id="global-integers-public-url",
            action="lambda:InvokeFunctionUrl",
            principal="*",
            function_url_auth_type="NONE",
            opts=child,
        )
        aws.lambda_.Permission(
            f"{name}-public-invoke",
            region=region,
            function=mint.name,
            statement_id="global-integers-public-invoke",
            action="lambda:InvokeFunction",
            principal="*",
            invoked_via_function_url=True,
            opts=child,
        )


def _cors(settings: Settings) -> aws.lambda_.FunctionUrlCorsArgs:
    """What pages of these origins may do: all that the API does, and read all of the answer."""
    return aws.lambda_.FunctionUrlCorsArgs(
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT"] if settings.open_counters else ["GET", "POST"],
        allow_headers=["accept", "idempotency-key"],
        expose_headers=["idempotency-replayed", "retry-after"],
        max_age=3600,
    )


def _coordinator(table_arn: str, home: str, prefix: str) -> str:
    """The coordinator's ARN. By its name: it is made after the tables, so it can't be asked for its own."""
    partition, account = table_arn.split(":")[1], table_arn.split(":")[4]
    return f"arn:{partition}:lambda:{home}:{account}:function:{prefix}-coordinate"


def _statements(counters: str, receipts: str, coordinator: str, *, open_counters: bool) -> list[dict[str, Any]]:
    """Just these actions on just these tables; the coordinator only where strangers may create counters."""
    scan = ["dynamodb:Scan"] if open_counters else []
    minting = [
        allow(["dynamodb:GetItem", "dynamodb:UpdateItem", *scan], counters),
        allow(["dynamodb:GetItem", "dynamodb:PutItem"], receipts),
    ]
    return [*minting, allow(["lambda:InvokeFunction"], coordinator)] if open_counters else minting
