"""`python -m local`: deploy the stack to an AWS API server on this machine, look at it, end it."""

try:  # first of all: the imports below take half a second
    from .environment import isolate
    from .terminal import end_on_ctrl_c

    end_on_ctrl_c()
    isolate()
except KeyboardInterrupt:
    raise SystemExit(130) from None

import gc
import sys
from importlib.util import find_spec

if absent := [name for name in ("boto3", "ministack", "pulumi", "pulumi_aws", "yaml") if find_spec(name) is None]:
    sys.exit(f"this Python has no {absent[0]}; install all: make .venv/local. Then: .venv/bin/python -m local")

from .command_line import main

if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command lives for seconds; looking for cycles more often takes a sixth of its time
    sys.exit(main())
