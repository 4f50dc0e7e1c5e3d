"""Runs the real `__main__.py` under Pulumi's mocks, with a stand-in for the engine and for AWS."""

import json
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import replace
from functools import cache
from typing import Any

import pulumi
from pulumi.runtime.settings import Settings as Runtime
from pulumi.runtime.settings import configure

from components.gateway.openapi import document
from components.global_integers import metrics_of
from components.monitoring.stack_metrics import StackMetrics
from components.settings import SettingsError, args_of_stack, settings_of
from components.settings.args import Settings
from local.engine.program import main, run_program

from .recording import Aws, Deployment

PROJECT = "global-integers"
STACK = "test"
PREFIX = f"{PROJECT}-{STACK}"
HOME = "us-east-1"
THREE = ("us-east-1", "eu-west-1", "ap-southeast-2")


def config(*regions: str, home: str = HOME, **more: object) -> dict[str, str]:
    """Return a stack's configuration as the engine hands it over: text, with lists as JSON."""
    more = {"regions": regions, **more}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in more.items()}
    return {"aws:region": home, **{f"{PROJECT}:{key}": text for key, text in texts.items()}}


def deploy(
    config: Mapping[str, str], *, stack: str = STACK, program: Callable[[], None] = main, aws: Aws | None = None
) -> Deployment:
    """Run the program to its end.

    What `__main__.py` makes of a configuration is kept, since many tests look at the same: don't change it.
    """
    if aws is None and program is main:
        return _deployed(tuple(config.items()), stack)
    return _finished(config, stack, program, aws or Aws())


@cache
def _deployed(config: tuple[tuple[str, str], ...], stack: str) -> Deployment:
    return _finished(dict(config), stack, main, Aws())


def _finished(config: Mapping[str, str], stack: str, program: Callable[[], None], aws: Aws) -> Deployment:
    deployment, error = _run(aws, config, stack, program)
    if error is not None:
        raise error
    return deployment


def deploy_badly(
    config: Mapping[str, str],
    *,
    stack: str = STACK,
    failing: str | None = None,
    program: Callable[[], None] = main,
    aws: Aws | None = None,
) -> tuple[Exception, Deployment]:
    """Run the program, which must fail: of itself, or since resources of the type or name `failing` can't be."""
    deployment, error = _run(aws or Aws(failing=failing), config, stack, program)
    if error is None:
        raise AssertionError("the program did not fail")
    return error, deployment


def _run(
    aws: Aws, config: Mapping[str, str], stack: str, program: Callable[[], None]
) -> tuple[Deployment, Exception | None]:
    outcome = run_program(aws, project=PROJECT, stack=stack, config=config, preview=aws.preview, program=program)
    return Deployment(aws.resources, outcome.outputs), outcome.error


def stack_metrics(
    *regions: str,
    apis: bool = False,
    signed: bool = True,
    thresholds: Mapping[str, int] | None = None,
    schedule_minutes: int = 5,
    **more: Any,
) -> StackMetrics:
    """Return the metrics of a deployment: with an API of the domain in every region if there are `apis`."""
    one = {"home": HOME, "regions": [HOME], "schedule_minutes": schedule_minutes, "alarms": thresholds}
    authorization = "AWS_IAM" if signed else "NONE"
    found = replace(settings_of(one, PREFIX), regions=regions, authorization=authorization, **more)
    return metrics_of(found, dict.fromkeys(found.deployed, "api") if apis else {})


def gateway_document(region: str, table_arn: str, role_arn: str, **more: Any) -> dict[str, Any]:
    """Return the OpenAPI document of a region's API Gateway without a function."""
    found = settings_of({"home": region, "regions": [region], **more}, "gateway")
    return document(found.names.gateway_api, found.region(region), table_arn, role_arn, "integers", signed=found.signed)


def settings(config: Mapping[str, str], *, stack: str = STACK) -> Settings:
    """Return the settings that the program reads from a configuration. Nothing is registered."""

    def read() -> Settings:
        configure(Runtime(project=PROJECT, stack=stack))
        pulumi.runtime.set_all_config(dict(config))
        return settings_of(args_of_stack(), "")

    return copy_context().run(read)


def refusals(config: Mapping[str, str], *, stack: str = STACK) -> list[str]:
    """Return what the program says of a wrong configuration, a line for each wrong setting."""
    try:
        settings(config, stack=stack)
    except SettingsError as error:
        first, *rest = str(error).splitlines()
        assert first == "the settings are wrong:"
        return [line.strip() for line in rest]
    raise AssertionError("the settings were accepted")
