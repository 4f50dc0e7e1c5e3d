"""Functions, and who may call them."""

from collections import Counter

import pytest

from local.aws_clients import Aws
from local.paths import LocalError
from local.resources.lambda_ import archived
from tests.local.registrations import HOME, function, invoked, role, up

CODE = "import os\ndef handler(event, context): return os.environ['SAYS']"


def test_a_functions_environment_and_limits_are_changed_in_place(aws: Aws, name: str) -> None:
    up(aws, role(name), function(name, CODE, {"SAYS": "one"}))
    assert invoked(aws, name) == "one"

    changed = function(name, CODE, {"SAYS": "two"}, timeout=30, memorySize=256)
    assert up(aws, role(name), changed)[1] == Counter(unchanged=1, updated=1)

    assert invoked(aws, name) == "two"
    now = aws.client("lambda", HOME).get_function_configuration(FunctionName=name)
    assert (now.get("Timeout"), now.get("MemorySize")) == (30, 256)
    assert up(aws, role(name), changed)[1] == Counter(unchanged=2)


def test_the_settings_from_before_undo_half_an_update(aws: Aws, name: str) -> None:
    before = function(name, CODE, {"SAYS": "one"})
    up(aws, role(name), before)
    with pytest.raises(LocalError, match=name):
        up(aws, role(name), function(name, CODE, {"SAYS": "two"}, code=archived(b"no archive")))

    assert up(aws, role(name), before)[1] == Counter(unchanged=1, updated=1)
    assert invoked(aws, name) == "one"
    assert up(aws, role(name), before)[1] == Counter(unchanged=2)
