"""AWS's own runtime in a process, and what it is told of the function and of each event."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proof.bench.runtime_api import FunctionError, Runtime

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="awslambdaric runs on Linux only")]

HANDLER = """
import os, threading

def handler(event, context):
    match event:
        case "context":
            return [context.function_name, context.invoked_function_arn, context.memory_limit_in_mb, os.environ["OWN"]]
        case "raise":
            raise LookupError("no such shop")
        case "exit":
            os._exit(3)
        case "stop":
            threading.Event().wait()
        case _:
            return event
"""

Run = Callable[..., Runtime]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(source: str = HANDLER, timeout: float = 900) -> Runtime:
        (tmp_path / "shop.py").write_text(source)
        return Runtime(tmp_path, "shop", "shop.handler", "eu-west-1", {"OWN": "1"}, 256, timeout)

    return run


def test_each_event_gets_its_response_or_its_error(run: Run) -> None:
    with run() as runtime:
        process = Path(f"/proc/{runtime.pid}")
        assert runtime.start() > 0
        with pytest.raises(FunctionError, match="LookupError: no such shop"):
            runtime.invoke("raise")
        assert [runtime.invoke(event) for event in ("ä", None, {"a": [1]})] == ["ä", None, {"a": [1]}]
        assert runtime.invoke("context") == ["shop", "arn:aws:lambda:eu-west-1:000000000000:function:shop", "256", "1"]
        with pytest.raises(FunctionError, match=r"Runtime\.ExitError: exit status 3"):
            runtime.invoke("exit")

    assert not process.exists()


def test_a_checkout_is_not_on_the_functions_path(run: Run) -> None:
    with run("import components") as runtime, pytest.raises(FunctionError, match="No module named 'components'"):
        runtime.start()


def test_a_function_that_takes_too_long_fails(run: Run) -> None:
    with run(timeout=2) as runtime, pytest.raises(FunctionError, match=r"no response in 2 seconds"):
        runtime.invoke("stop")  # an initialisation that takes longer is such an error, too
