"""What a new version of the coordinator checks before anybody uses it: that it can read its tables and the aliases."""

import os
from functools import partial

from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed, invoke
from aws_client.service import ServiceError

from global_integers_core.names import CHECK_COUNTER, DEPLOYMENTS_ALIAS, MINTING_ALIAS

from . import refusals
from .functions import TIMEOUT, AliasError, Functions
from .log import write
from .protocol import operations as op
from .protocol.model import Absent, DeploymentRecord
from .protocol.operations import CarryOut
from .release import is_later, patiently

ALIASES = (MINTING_ALIAS, DEPLOYMENTS_ALIAS)


def check_self(arn: str, version: str, build: str, carry_out: CarryOut, functions: Functions) -> dict[str, str]:
    """Check this version of the coordinator, and move its aliases to it, unless they lead to a later one.

    `arn` is the function's, `version` its number, `build` what it must be; `$LATEST`, "" and an alias move nothing. A
    region that doesn't answer is no fault of this version. Before the first deployment there is no alias yet.

    It returns once a call by an alias gets this build: what deployments do next, they do by that, and what only the
    version before may do is taken away.

    Raises:
        Refused: it is of another build, a table at home can't be used, no region's can, or something isn't allowed. No
            alias was moved. Or an alias can't be moved, or still leads to another version.
    """
    if os.environ.get("BUILD") != build:
        raise refusals.unpublished(version, build)
    for operation in (op.DescribeLayouts(), op.DescribeMirror()):  # these are refused by themselves
        carry_out(operation)
    record: DeploymentRecord | None = carry_out(op.ReadRecord())
    regions = record.desired.regions if record else ()
    for table, read in {"counters": op.ReadItem, "receipts": op.ReadRecorded}.items():
        answers = [carry_out(read(region, CHECK_COUNTER)) for region in regions]
        if answers and all(answer in (Absent.UNREACHABLE, Absent.GONE) for answer in answers):
            raise refusals.unusable(f"the {table} table of any region", answers[0].value)
    patiently(partial(_check_aliases, regions, functions), refusals.denied)
    if version.isdigit():
        _move(arn, version, build)
    return {"checked": version or "$LATEST"}


def _check_aliases(regions: tuple[str, ...], functions: Functions) -> None:
    found = sorted(functions.aliases(regions).items())
    refused = [f"{region}: {error}" for region, error in found if isinstance(error, AliasError) and error.denied]
    if refused:
        raise AliasError("; ".join(refused))


def _move(arn: str, version: str, build: str) -> None:
    _, _, _, home, _, _, name, *_ = arn.split(":")
    own = Functions(arn, name)

    def move(alias: str) -> bool:
        """Return whether the alias leads to this version now."""
        found = own.alias(home, alias)
        if found is None or not is_later(version, found.version):
            return found is not None and found.version == version
        own.move(home, found, version, f"Version before: {found.version}.", alias)
        write("INFO", phase="moved", region=home, alias=alias, version=version, before=found.version)
        return True

    def reach() -> None:
        try:
            invoke(f"{arn.removesuffix(version)}{DEPLOYMENTS_ALIAS}", {"self": {"build": build}}, TIMEOUT)
        except (InvocationFailed, NoResponse, ServiceError) as error:
            raise AliasError(f"it doesn't lead to version {version} yet: {error}") from error

    unmovable = partial(refusals.unmovable, home, function="coordinator")
    here = [patiently(partial(move, alias), unmovable) for alias in ALIASES]
    if here[-1]:
        patiently(reach, unmovable)
