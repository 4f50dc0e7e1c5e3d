"""What `up` would do. It runs the program as `pulumi preview` does: nothing is made, and nothing is recorded."""

from collections.abc import Callable, Mapping
from typing import Any

from ..paths import LocalError
from ..resources.invocation import INVOCATION
from ..resources.kind import Aws
from .engine import Engine, Report, is_identified, user_error
from .program import Registration, main, run_program
from .stack import Made, State


def preview(
    project: str,
    stack: str,
    config: Mapping[str, str],
    aws: Aws | None,
    report: Report,
    program: Callable[[], None] = main,
) -> list[str]:
    """Run a program as the preview of a stack does.

    Args:
        project: The project's name.
        stack: The stack's name.
        config: Full key → value.
        aws: The server's clients; None if there is no server yet.
        report: Called for every resource: `create`, `update`, `replace`, `delete` or `unchanged`, its type, its name.
        program: By default `__main__.py`.

    Returns:
        The program's messages about the changes.

    Raises:
        LocalError: the program's settings are wrong, or something can't be deleted.
    """
    engine = _Preview(aws, State(stack, frozen=True), report)
    outcome = run_program(engine, project=project, stack=stack, config=config, preview=True, program=program)
    if outcome.error is not None:
        raise user_error(outcome.error) from outcome.error
    for made in engine.deletable():
        if not made.replaced:
            report("delete", made.type, made.name)
    return outcome.messages


class _Preview(Engine):
    """Compares what a program registers with what exists."""

    def __init__(self, aws: Aws | None, state: State, report: Report) -> None:
        super().__init__(aws or Aws("http://127.0.0.1:9"), state, report)
        self._exists = aws is not None
        if not self._exists:
            state.resources.clear()

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Return the outputs that are known: those of a resource that stays, though it may be changed."""
        if not resource.custom:
            return "", resource.inputs
        wanted, inputs, before = self.compared(resource)
        if before is None:
            self._report("create", resource.type, resource.name)
            return "", inputs
        if before.inputs == wanted.inputs and not before.updating:
            self._report("unchanged", resource.type, resource.name)
        elif resource.type == INVOCATION:  # each is another call
            self._report("replace", resource.type, resource.name)
            return "", inputs
        else:
            self._report("update", resource.type, resource.name)
        return before.id, {**before.outputs, **inputs}

    def found(self, resource: Registration) -> Made | None:
        """Return what the state has of a resource: by its name, where what identifies it isn't known yet."""
        return super().found(resource) if is_identified(resource) else self.named(resource)

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a provider function from the server, and find the hosted zone of any name, since `up` makes it.

        Raises:
            LocalError: the function failed, or isn't supported here, or there is no server to ask.
        """
        if token == "aws:route53/getZone:getZone":  # noqa: S105 (a function's name)
            if "name" not in arguments:
                raise LocalError(
                    f"a server that starts has no zone {arguments['zoneId']}; on this machine, use its name"
                )
            return {"id": "", "zoneId": "", "privateZone": False, **arguments}
        if not self._exists:
            raise LocalError(f"{token}: the program asks AWS before it has made anything")
        return super().call(token, arguments)
