"""Applies the program as `pulumi up` and `pulumi preview` would: what it registers is made in the local server.

What is unknown in a preview: in Pulumi, the outputs of a resource that will be created, and those that an update may
change. Whatever the program makes of them is unknown, too, and so is the input of another resource: as in Pulumi, that
counts as changed, though `up` may find that it isn't.
"""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, cast

import pulumi
from botocore.exceptions import BotoCoreError, ClientError

from ..aws_clients import Aws, found, says
from ..paths import LocalError
from ..resources import FUNCTIONS, KINDS
from ..resources.kind import Applied, Kind
from ..stack import Made, State
from .inputs import as_json, with_ignored
from .program import ProgramOutcome, Registration, main, run_program

EXISTS = re.compile("Conflict|Exists|InUse")
"""In what the services call their errors where something exists already, or doesn't exist."""

Report = Callable[[str, str, str], None]
"""Called for every resource: what happened, its type, its name.

What happened is `created`, `updated`, `replaced`, `unchanged` or `deleted`; in a preview `create`, `update` …."""


class Engine:
    """Creates, updates or reuses resources, and records them in the state once they are made.

    Without `aws`, there is no server yet, so there is nothing, whatever the state says. With a frozen state, this is a
    preview: resources are only compared with what exists. `report` is called from several threads.
    """

    def __init__(self, aws: Aws | None, state: State, report: Report) -> None:
        self._aws = aws or Aws("http://127.0.0.1:9")  # is never called: the program reads what exists
        self.state = state
        self._report = report
        self._seen: dict[str, str] = {}
        """What this run registered: key → name."""
        self._lock = Lock()
        if aws is None:
            state.resources.clear()

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a provider function."""
        if token not in FUNCTIONS:
            raise LocalError(f"{token}: the program asks AWS, which can't be answered here yet (local/resources/)")
        return FUNCTIONS[token](self._aws, arguments)

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Bring the real resource to what the program registers. Return its id and outputs.

        Where an identifying input has changed (a region, a name), it is another resource: it is created now,
        and the old one is deleted at the end. The same holds if its kind says that it can't be changed.

        In a preview, return the outputs that are known: those of a resource that stays, though it may be changed.
        """
        if not resource.custom:
            return "", resource.inputs
        # Tags aren't set here, so a change of tags is none.
        resource = replace(resource, inputs={key: value for key, value in resource.inputs.items() if key != "tags"})
        kind = KINDS.get(resource.type)
        if kind is None:
            raise LocalError(
                f"{resource.name}: resources of type {resource.type} can't be made here yet; "
                "describe them in local/resources/"
            )
        with _errors_of(resource.name, resource.type):
            wanted, registered, before = self._compared(resource)
            if before is not None and before.inputs == wanted.inputs and not before.updating:
                self.state.put(replace(wanted, id=before.id, outputs=before.outputs))
                self._report("unchanged", wanted.type, wanted.name)
                return before.id, {**registered, **before.outputs}
            replaces = before is not None and kind.replaced
            event = "create" if before is None else "replace" if replaces else "update"
            if self.state.frozen:
                self._report(event, wanted.type, wanted.name)
                if before is None or replaces:
                    return "", {**registered, **kind.planned(registered)}
                return before.id, {**kind.known(before, wanted.inputs), **registered}
            id_, own = self._apply(kind, wanted, before)
            outputs = dict(kind.read(self._aws, replace(wanted, id=id_, outputs=dict(own))) or {})
        made = replace(wanted, id=id_, outputs=outputs)
        if replaces:
            self.state.replace(made)
        else:
            self.state.put(made)
        self._report(f"{event}d", made.type, made.name)
        return id_, {**registered, **outputs}

    def _compared(self, resource: Registration) -> tuple[Made, dict[str, Any], Made | None]:
        """Return the resource that is wanted, its inputs, and the resource as it is now; None if it doesn't exist.

        What the state has of it is found by what identifies it, or by its name if that isn't known yet. If the program
        changes a table's region, but ignores that change, this is still the table in the region where it was made.
        """
        title, present = (resource.type, resource.name), [*self.state.resources.values()]
        named = next((made for made in present if (made.type, made.name) == title and not made.replaced), None)
        ignored = resource.ignore_changes
        inputs = with_ignored(resource.inputs, named.inputs, ignored) if named else resource.inputs
        identified = not any(
            isinstance(inputs.get(one), pulumi.output.Unknown) for one in KINDS[resource.type].identity
        )
        recorded = self.state.resources.get(_key(resource, inputs)) if identified else named
        before = self.refreshed(recorded) if recorded else None
        inputs = with_ignored(resource.inputs, before.inputs, ignored) if before else resource.inputs
        key = before.key if before else _key(resource, inputs) if identified else " ".join(title)
        with self._lock:
            if key in self._seen:
                raise LocalError(f"{resource.name} and {self._seen[key]} are the same resource: {key}")
            self._seen[key] = resource.name
        return Made(key, *title, as_json(inputs), "", {}, resource.protect), inputs, before

    def refreshed(self, made: Made) -> Made | None:
        """Return a resource as it is now, as `pulumi up --refresh` finds it; None, and forget it, if it is gone."""
        outputs = found(KINDS[made.type].read, aws=self._aws, made=made)
        if outputs is None:
            self.state.remove(made.key)
            return None
        return replace(made, inputs=_as_now(made.inputs, outputs), outputs=dict(outputs))

    def _apply(self, kind: Kind, wanted: Made, before: Made | None) -> Applied:
        inputs = wanted.inputs
        if before is not None and not kind.replaced:  # else the former stays as it is
            self.state.put(replace(before, updating=True))
        try:
            return kind.apply(self._aws, inputs, before)
        except ClientError as error:
            if before is not None and kind.done_if_failed:
                self.state.put(replace(wanted, id=before.id, outputs=before.outputs))
            if before is not None or not says(error, EXISTS):
                raise
            # Made by a run that was killed before it could record that: take it over as it is.
            keys = ("statementId", "name", "domainName", "functionName")
            name = next((inputs[key] for key in keys if inputs.get(key)), "")
            return kind.apply(self._aws, inputs, replace(wanted, id=name))

    def delete_unseen(self) -> None:
        """Delete what earlier runs made and this one did not register, and what it replaced, the newest first.

        Nothing is deleted if something is protected.
        """
        unseen = [made for made in reversed(list(self.state.resources.values())) if made.key not in self._seen]
        there: list[Made] = []
        for made in unseen:
            with _errors_of(made.name, made.type):
                there += [made] if self.refreshed(made) else []
        if protected := [f"{made.name} ({made.key})" for made in there if made.protect and not made.replaced]:
            raise LocalError(
                f"these are protected, and no longer in the program: {', '.join(protected)}. Nothing was deleted. Put "
                "them back. Then, to remove a region, deploy with it in `leaving`; to delete anything else, with "
                "`protect: false`"
            )
        for made in there:
            if not self.state.frozen:
                with _errors_of(made.name, made.type):
                    found(KINDS[made.type].delete, aws=self._aws, made=made)
                self.state.remove(made.key)
            if not made.replaced:
                self._report("delete" if self.state.frozen else "deleted", made.type, made.name)


def _key(resource: Registration, inputs: Mapping[str, Any]) -> str:
    identity = [str(as_json(inputs.get(name))) for name in KINDS[resource.type].identity]
    return " ".join([resource.type, *(identity or [resource.name])])


def _as_now(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs as they are now, where the outputs say so. What the service adds within an input doesn't count."""
    now: dict[str, Any] = {}
    for name, value in inputs.items():
        found = outputs.get(name, value)
        both = isinstance(value, dict) and isinstance(found, dict)
        now[name] = _as_now(cast("dict[str, Any]", value), cast("dict[str, Any]", found)) if both else found
    return now


@contextmanager
def _errors_of(name: str, kind: str) -> Generator[None]:
    """Name the resource in an error of the server or of the connection to it."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise LocalError(f"{name} ({kind}): {error}") from error


def deploy(
    engine: Engine, project: str, config: Mapping[str, str], program: Callable[[], None] = main
) -> ProgramOutcome:
    """Apply a program as `pulumi up` would: make, change, then remove what is gone. With a frozen state, preview it."""
    state = engine.state
    outcome = run_program(
        engine, project=project, stack=state.stack, config=config, preview=state.frozen, program=program
    )
    if outcome.error is not None:
        raise _user_error(outcome.error) from outcome.error
    engine.delete_unseen()
    state.finish(outcome.outputs)
    return outcome


def _user_error(error: BaseException) -> BaseException:
    """Return the error that is meant for the user: our own or the program's, wherever it is in the chain."""
    found: BaseException | None = error
    seen: list[BaseException] = []  # a chain may lead back: Pulumi raises an error again where it was handled
    while found is not None and found not in seen:
        if isinstance(found, LocalError | OSError):  # an OSError: the state can't be written
            return found
        if isinstance(found, pulumi.RunError) or str(found).startswith("invoke of "):  # a provider function failed
            return LocalError(str(found))
        seen.append(found)
        found = found.__cause__ or found.__context__
    return error
