"""AWS's own runtime in a process, and what it is told of the function and of each event."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from proof.bench.runtime_api import FunctionError, Runtime

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="awslambdaric runs on Linux only")]

HANDLER = """
import logging, os, threading

def handler(event, context):
    match event:
        case "context":
            return {
                "name": context.function_name,
                "arn": context.invoked_function_arn,
                "memory": context.memory_limit_in_mb,
                "milliseconds": context.get_remaining_time_in_millis(),
                "region": os.environ["AWS_REGION"],
                "own": os.environ["OWN"],
            }
        case "warn":
            logging.getLogger("shop").info("not shown")
            logging.getLogger("shop").warning("sold out: %s", "socks")
            return context.aws_request_id
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
    """Return a runtime of this module, or of another text, with settings of its function changed."""

    def run(source: str = HANDLER, handler: str = "shop.handler", timeout: float = 900) -> Runtime:
        (tmp_path / "shop.py").write_text(source)
        return Runtime(tmp_path, "shop", handler, "eu-west-1", {"OWN": "1"}, 256, timeout)

    return run


def last_line(runtime: Runtime) -> dict[str, object]:
    return json.loads(runtime.log.splitlines()[-1])


def test_events_are_answered_one_after_the_other(run: Run) -> None:
    with run() as runtime:
        assert [runtime.invoke(event) for event in ("ä", None, {"a": [1]})] == ["ä", None, {"a": [1]}]


def test_a_function_is_told_what_lambda_tells_it(run: Run) -> None:
    with run() as runtime:
        output = runtime.invoke("context")

    assert 0 < output.pop("milliseconds") <= 900_000
    assert output == {
        "name": "shop",
        "arn": "arn:aws:lambda:eu-west-1:000000000000:function:shop",
        "memory": "256",
        "region": "eu-west-1",
        "own": "1",
    }


def test_it_logs_json_from_its_level_on(run: Run) -> None:
    with run() as runtime:
        request = runtime.invoke("warn")
        line = last_line(runtime)

        assert "not shown" not in runtime.log
    assert (line["level"], line["message"], line["requestId"]) == ("WARNING", "sold out: socks", request)


def test_after_an_error_the_next_event_is_answered(run: Run) -> None:
    with run() as runtime:
        with pytest.raises(FunctionError, match="LookupError: no such shop") as failed:
            runtime.invoke("raise")
        line = last_line(runtime)

        assert runtime.invoke("next") == "next"
    assert "shop.py" in failed.value.document["stackTrace"][-1]
    assert (line["level"], line["errorType"], line["errorMessage"]) == ("ERROR", "LookupError", "no such shop")


@pytest.mark.parametrize(
    ("source", "handler", "error"),
    [
        ("import no_such_module", "shop.handler", "Runtime.ImportModuleError: .*no_such_module"),
        ("def handler(:", "shop.handler", "Runtime.UserCodeSyntaxError: Syntax error in module 'shop'"),
        ("1 / 0", "shop.handler", "ZeroDivisionError: division by zero"),
        ("", "shop.handler", "Runtime.HandlerNotFound: Handler 'handler' missing"),
        ("import components", "shop.handler", "No module named 'components'"),  # this checkout is not on its path
    ],
)
def test_a_module_that_cannot_be_imported(source: str, handler: str, error: str, run: Run) -> None:
    with run(source, handler) as runtime:
        for _ in range(2):
            with pytest.raises(FunctionError, match=error):
                runtime.invoke({})
        with pytest.raises(FunctionError, match=error):
            runtime.start()


def test_a_process_that_exits_fails_its_event_and_all_later_ones(run: Run) -> None:
    with run() as runtime:
        for event in ("exit", "next"):
            with pytest.raises(FunctionError, match=r"Runtime\.ExitError: .*exit status 3"):
                runtime.invoke(event)


def test_a_function_that_takes_too_long_is_killed(run: Run) -> None:
    with run(timeout=2) as runtime:  # an initialisation that takes longer is such an error, too
        with pytest.raises(FunctionError, match=r"Sandbox\.Timedout: .* Task timed out after 2\.00 seconds"):
            runtime.invoke("stop")
        with pytest.raises(FunctionError, match=r"Sandbox\.Timedout"):
            runtime.invoke("next")


def test_a_process_in_its_initialisation_ends_with_the_context(run: Run) -> None:
    with run("import threading; threading.Event().wait()") as runtime:
        process = Path(f"/proc/{runtime.pid}")
        assert process.exists()

    assert not process.exists()


def test_what_a_process_uses_grows_with_what_it_does(run: Run) -> None:
    began = time.perf_counter()
    with run("def handler(event, context): return sum(range(event)) and len(b'x' * event)") as runtime:
        assert 0 < runtime.start() <= time.perf_counter() - began
        before = runtime.usage()
        runtime.invoke(32_000_000)
        after = runtime.usage()

    assert after[0] > before[0] > 0
    assert after[1] > before[1] + 30
