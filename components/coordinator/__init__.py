"""What exists only in the home region: the layouts table, its mirror, the coordinator, its schedule."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws

from global_integers_core.names import DEPLOYMENTS_ALIAS, MINTING_ALIAS

from ..function import PythonFunction, allow, archive
from ..names import MOVES, STAYS, ResourceNames
from ..settings.subjects import Region, Roles
from ..settings.values import canonical
from ..table import arn_in, only_writers, table, use_keys
from .deployment import FormerHome, record_in, request, unchanged_name

EVENT = json.dumps({"schedule": True})

MAX_AGE = 60
"""Seconds after which a run is dropped: the least that EventBridge and Lambda accept. The next run does its work."""


class Schedule(pulumi.ComponentResource):
    """A rule, the alias that it calls, and the permission to call it. A run that fails isn't retried."""

    def __init__(
        self,
        name: str,
        home: str,
        *,
        rule_name: str,
        minutes: int,
        alias: aws.lambda_.Alias,
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:Schedule", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, ignore_changes=STAYS)

        rule = aws.cloudwatch.EventRule(
            f"{name}-rule",
            name=rule_name,
            region=home,
            description="Runs the coordinator, which repairs what it can.",
            schedule_expression=rate(minutes),
            opts=child,
        )
        permission = aws.lambda_.Permission(
            f"{name}-permission",
            region=home,
            function=alias.function_name,
            qualifier=alias.name,
            statement_id="global-integers-schedule",
            action="lambda:InvokeFunction",
            principal="events.amazonaws.com",
            source_arn=rule.arn,
            opts=child,
        )
        aws.cloudwatch.EventTarget(
            f"{name}-target",
            region=home,
            rule=rule.name,
            target_id="coordinator",
            arn=alias.arn,
            input=EVENT,
            retry_policy=aws.cloudwatch.EventTargetRetryPolicyArgs(
                maximum_event_age_in_seconds=MAX_AGE, maximum_retry_attempts=0
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[permission], ignore_changes=STAYS),
        )
        self.register_outputs({})


def rate(minutes: int) -> str:
    """Return the schedule's expression. EventBridge refuses `rate(1 minutes)`, and `rate(5 minute)` too."""
    return f"rate({minutes} minute{'' if minutes == 1 else 's'})"


JOURNAL_DAYS = 365
"""The coordinator's log is kept at least as long, whatever the settings say: it is the journal of all layouts."""


@dataclass(frozen=True)
class CoordinatorArgs:
    """What the coordinator and its tables need of the settings."""

    names: ResourceNames
    home: str
    former: FormerHome | None
    """Whose record this deployment follows, if the home region must be moved or taken back."""
    kms_keys: Mapping[str, pulumi.Input[str]]
    """Region → the ARN of the key that encrypts its tables and logs, if not keys of AWS do."""
    roles: Roles
    protect: bool
    """Whether its tables can't be deleted."""
    default_counter: str
    """What `/` mints from, and checks ask for."""
    environment: Mapping[str, str]
    """Variables of its function, besides the names of what it uses."""
    schedule_minutes: int
    log_retention_days: int


class Coordinator(pulumi.ComponentResource):
    """The home region's tables, the coordinator, its schedule, and its runs at deployments that change something.

    All of it is named after the home region, so that of another one is made beside it, and then this is deleted. What
    is in no region stays above it: the witness, which stays for good, and the role.

    The coordinator is deployed before any minting function changes. Its new version checks itself before its aliases
    move to it. It checks a new version of each minting function, and moves that one's alias. In the end, it reconciles.
    Each of these runs is registered where its method is called.
    """

    function: PythonFunction
    ready: list[pulumi.Resource]
    """What a call of the coordinator by an alias needs."""
    witness: pulumi.Stash
    """Keeps the label of the stack's first layouts table: by it, the coordinator notices that the table was lost.

    `pulumi destroy` deletes it after all other tables, which depend on it, and before the layouts table, on which it
    depends. So if that is interrupted, either the layouts table is still whole, or no data are left.
    """

    def __init__(self, name: str, args: CoordinatorArgs, opts: pulumi.ResourceOptions) -> None:
        names, home, former, key = args.names, args.home, args.former, args.kms_keys.get(args.home)
        base, name = name, f"{name}-{home}"
        super().__init__("global-integers:index:Coordinator", name, None, opts)
        self._name, self._home, self._former, self._default_counter = name, home, former, args.default_counter
        self._counters_table = names.counters_table
        # What a move makes is protected once it is the home: until then, the move may be given up.
        moving = former is not None and former.region != home
        protect = args.protect and not moving
        layouts = table(f"{name}-layouts", names.layouts_table, home, self, protect=protect, kms_key=key, stream=True)
        self._layouts_label = layouts.stream_label.apply(lambda label: f"{home} {label}")
        self.witness = pulumi.Stash(
            f"{base}-first-layouts",
            input=self._layouts_label,
            opts=pulumi.ResourceOptions(parent=opts.parent, protect=args.protect),
        )
        mirror = table(
            f"{name}-mirror", names.mirror_table, home, self, protect=protect, kms_key=key, after=[self.witness]
        )
        # The ARN is unknown until the table exists. Until then nothing is read.
        read, layouts_arn = partial(record_in, parent=self), arn_in(home, layouts)
        # A layouts table that was lost is put back from the mirror, but only after the minting functions have changed.
        self._record, self._copy = layouts_arn.apply(read), arn_in(home, mirror).apply(read)
        # Where one of these is refused, nothing that names a table is changed: no function, and no policy of one.
        layouts_name = pulumi.Output.all(layouts.name, self._record, self._copy).apply(
            lambda all_: unchanged_name(all_[0], names.layouts_table)
        )
        self.function = PythonFunction(
            f"{name}-coordinate",
            home,
            kms_key=key,
            roles=args.roles,
            function_name=names.coordinate_function,
            role_name=names.coordinate_role(home),
            description="Gives each counter its layout of regions, and repairs what it can.",
            handler="coordinate.handler.handler",
            code=archive("coordinate", "aws_client"),
            environment={
                "COUNTERS_TABLE": names.counters_table,
                "RECEIPTS_TABLE": names.receipts_table,
                "MINT_FUNCTION": names.mint_function,
                "STACK": names.prefix,
                **args.environment,
            },
            own_environment={"LAYOUTS_TABLE": layouts_name, "MIRROR_TABLE": mirror.name},
            statements=pulumi.Output.all(layouts_arn, layouts_name, *args.kms_keys.values()).apply(
                lambda known: [*_statements(names, known[0]), *use_keys(known[2:])]
            ),
            memory_size=1769,  # one whole processor: signing thousands of calls is what takes the time
            timeout=900,
            log_retention_days=max(args.log_retention_days, JOURNAL_DAYS),
            above=opts.parent or self,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.ready = [layouts, mirror, self.function.policy]
        if args.protect:
            # By any coordinator of this stack: whoever moves the home region writes a claim into each former home.
            ours = self.function.role.arn.apply(lambda arn: f"{arn.removesuffix(home)}*")
            for each, its in {"layouts": layouts, "mirror": mirror}.items():
                only_writers(f"{name}-{each}-writers", home, its, [ours], self)
        if args.protect and former is not None and moving:
            # They were protected, so they are deleted by the next deployment.
            old, its_key = f"{base}-{former.region}", args.kms_keys.get(former.region)
            left = partial(table, region=former.region, parent=self, protect=False, kms_key=its_key)
            left(f"{old}-layouts", names.layouts_table, stream=True)
            left(f"{old}-mirror", names.mirror_table)
        checked = self._invocation(
            "self",
            self.function.digest.apply(
                lambda digest: canonical({"self": {"digest": digest, "build": self.function.build}})
            ),
            [self.function.function],
            qualifier=self.function.version,
        )
        self.function.allow_no_more([checked])
        deployments = self._alias(DEPLOYMENTS_ALIAS, "What deployments, the schedule and operators call.", checked)
        minting = self._alias(MINTING_ALIAS, "What minting functions may ask the coordinator for.", checked)
        self.ready += [checked, deployments, minting]
        # A failed deployment needs the schedule most, so it doesn't wait for the runs below.
        Schedule(
            f"{name}-schedule",
            home,
            rule_name=names.schedule_rule,
            minutes=args.schedule_minutes,
            alias=deployments,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"functionName": self.function.name})

    def _alias(self, alias: str, description: str, checked: pulumi.Resource) -> aws.lambda_.Alias:
        """Register an alias, which leads to a version that was `checked`. From then on, that check moves it.

        Nothing is retried: the schedule comes again, callers try again, and so do regions.
        """
        registered = aws.lambda_.Alias(
            f"{self._name}-{alias}-alias",
            region=self._home,
            name=alias,
            description=description,
            function_name=self.function.name,
            function_version=self.function.version,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[checked], ignore_changes=[*STAYS, *MOVES]),
        )
        aws.lambda_.FunctionEventInvokeConfig(
            f"{self._name}-{alias}-retries",
            region=self._home,
            function_name=self.function.name,
            qualifier=registered.name,
            maximum_event_age_in_seconds=MAX_AGE,
            maximum_retry_attempts=0,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=STAYS),
        )
        return registered

    def check(self, region: Region, mint: PythonFunction, after: Sequence[pulumi.Resource]) -> pulumi.Resource:
        """Return the check of a region's new version. It is done again whenever the function changes.

        While the region is paused, it does nothing. It is done when the region is paused no longer.
        """
        return self._about("check", region, mint, {}, after)

    def release(
        self, region: Region, mint: PythonFunction, url: pulumi.Output[str] | None, after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        """Return the move of a region's alias to its new version, after `after`: all checks of its wave.

        What callers reach then is checked once more, also by `url`. A region that leaves is moved without a check.
        """
        more: dict[str, Any] = {"url": url} if url is not None else {}
        if region.leaving:
            more["leaving"] = True
        return self._about("release", region, mint, more, after)

    def _about(
        self,
        what: str,
        region: Region,
        mint: PythonFunction,
        more: Mapping[str, pulumi.Input[Any]],
        after: Sequence[pulumi.Resource],
    ) -> pulumi.Resource:
        asked: dict[str, pulumi.Input[Any]] = {
            "region": region.name,
            "counter": self._default_counter,
            "code": mint.code,
            "build": mint.build,
            "version": mint.version,
            "digest": mint.digest,
            **({"paused": True} if region.paused else {}),
            **more,
        }
        event = pulumi.Output.from_input(asked).apply(lambda known: canonical({what: known}))
        return self._invocation(f"{what}-{region.name}", event, after)

    def reconcile(
        self,
        desired: Mapping[str, Any],
        tables: Mapping[str, aws.dynamodb.Table],
        after: Sequence[pulumi.Resource],
        *,
        protect: bool,
    ) -> pulumi.Output[dict[str, Any]]:
        """Give every counter its layout, after all that its regions need. Return the coordinator's report.

        `desired` is what the settings ask for (`desired_state_of`), `tables` are the regions' counters tables. With
        `protect`, no region may be deleted that hasn't left.

        A region that is leaving isn't waited for: it may be one that never comes back.
        """
        event = request(
            self,
            self._home,
            desired,
            self._record,
            self._copy,
            tables,
            counters_table=self._counters_table,
            protect=protect,
            layouts_label=self._layouts_label,
            first_layouts_label=self.witness.output,
            former=self._former,
        )
        result = self._invocation("reconcile", event, after).result
        if not pulumi.runtime.is_dry_run():
            result = result.apply(_agreed, run_with_unknowns=True)
        return result.apply(json.loads)

    def _invocation(
        self,
        name: str,
        event: pulumi.Input[str],
        after: Sequence[pulumi.Resource],
        qualifier: pulumi.Input[str] = DEPLOYMENTS_ALIAS,
    ) -> aws.lambda_.Invocation:
        return aws.lambda_.Invocation(
            f"{self._name}-{name}",
            region=self._home,
            function_name=self.function.name,
            qualifier=qualifier,
            # A changed event is another invocation, which replaces this one. So one that fails leaves nothing in
            # Pulumi's state; a failed update would (terraform-provider-aws#43447).
            lifecycle_scope="CREATE_ONLY",
            input=event,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*after, *self.ready], ignore_changes=STAYS),
        )


def _agreed(result: Any) -> str:
    """Return the coordinator's reply, or fail.

    With `--continue-on-error`, an invocation that failed leaves its result unknown, and Pulumi would go on to delete
    what has left the program. It deletes nothing if the program itself fails.
    """
    if not isinstance(result, str):
        raise pulumi.RunError("the coordinator has not agreed to this deployment, so nothing is deleted")
    return result


def _statements(names: ResourceNames, layouts_arn: str) -> list[dict[str, Any]]:
    """Return statements that allow only the coordinator's calls.

    All tables are named in any region: one that leaves must still be fenced when the program no longer knows it, and
    the home may have been another one.
    """
    _, partition, _, home, account, *_ = layouts_arn.split(":")
    in_any_region = f"arn:{partition}:dynamodb:*:{account}:table"
    functions = f"arn:{partition}:lambda:*:{account}:function:{names.mint_function}"
    own = f"arn:{partition}:lambda:{home}:{account}:function:{names.coordinate_function}"
    aliases = ["lambda:GetAlias", "lambda:UpdateAlias"]
    registers = ["GetItem", "PutItem", "Scan", "ConditionCheckItem", "DeleteItem", "DescribeTable"]
    copies = ["GetItem", "PutItem", "Scan", "ConditionCheckItem", "DescribeTable"]
    items = ["GetItem", "PutItem", "UpdateItem", "Scan", "DeleteItem", "DescribeTable"]
    recorded = ["GetItem", "UpdateItem"]
    return [
        allow([f"dynamodb:{action}" for action in registers], f"{in_any_region}/{names.layouts_table}"),
        allow([f"dynamodb:{action}" for action in copies], f"{in_any_region}/{names.mirror_table}"),
        allow([f"dynamodb:{action}" for action in items], f"{in_any_region}/{names.counters_table}"),
        allow([f"dynamodb:{action}" for action in recorded], f"{in_any_region}/{names.receipts_table}"),
        # With or without a qualifier: which of them AWS compares differs by action.
        allow(["lambda:InvokeFunction", "lambda:InvokeFunctionUrl", *aliases], functions, f"{functions}:*"),
        allow(aliases, own, f"{own}:*"),
        # A new version asks by the alias that it has moved whether it is reached.
        allow(["lambda:InvokeFunction"], f"{own}:{DEPLOYMENTS_ALIAS}"),
    ]
