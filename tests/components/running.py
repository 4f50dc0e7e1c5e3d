"""Runs the real `__main__.py` under Pulumi's mocks, with a stand-in for the engine and for AWS."""

import json
from collections.abc import Callable, Mapping

from local.program import main, run_program

from .recording import Aws, Deployment

PROJECT = "global-integers"
STACK = "test"
PREFIX = f"{PROJECT}-{STACK}"
HOME = "us-east-1"
THREE = ("us-east-1", "eu-west-1", "ap-southeast-2")


def config(*regions: str, home: str = HOME, **given: object) -> dict[str, str]:
    """Return a stack's configuration as the engine hands it over: text, with lists as JSON."""
    given = {"regions": regions, **given}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    return {"aws:region": home, **{f"{PROJECT}:{key}": text for key, text in texts.items()}}


def deploy(
    config: Mapping[str, str],
    *,
    stack: str = STACK,
    preview: bool = False,
    program: Callable[[], None] = main,
    aws: Aws | None = None,
) -> Deployment:
    """Run the program to its end."""
    deployment, error = _run(aws or Aws(preview=preview), config, stack, program)
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
