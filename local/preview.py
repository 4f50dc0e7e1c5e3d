"""Checks the program's settings before anything is started."""

from collections.abc import Callable, Mapping
from typing import Any

from .engine import user_error
from .paths import LocalError
from .program import Registration, main, run_program


def check(project: str, stack: str, config: Mapping[str, str], program: Callable[[], None] = main) -> None:
    """Run a program as the first preview of a stack does: without a server, and nothing is made.

    Raises:
        LocalError: the program's settings are wrong.
    """
    error = run_program(_Nothing(), project=project, stack=stack, config=config, preview=True, program=program).error
    if error is not None:
        raise user_error(error) from error


class _Nothing:
    """Stands for an AWS in which nothing exists yet."""

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Return the inputs: all else is not known yet."""
        return "", resource.inputs

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Find the hosted zone of any name, since `up` makes it. Refuse other functions.

        Raises:
            LocalError: the zone is given by its id, or it is another function.
        """
        if token == "aws:route53/getZone:getZone":  # noqa: S105 (a function's name)
            if "name" not in arguments:
                raise LocalError(
                    f"a server that starts has no zone {arguments['zoneId']}; on this machine, use its name"
                )
            return {"id": "", "zoneId": "", "privateZone": False, **arguments}
        raise LocalError(f"{token}: the program asks AWS before it has made anything")
