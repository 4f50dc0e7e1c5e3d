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

if find_spec("ministack") is None:
    sys.exit("the dependencies aren't installed for this Python; after `make up`: .venv/bin/python -m local")

from .command_line import main

if __name__ == "__main__":
    gc.set_threshold(100_000)  # a command lives for seconds; looking for cycles more often takes a sixth of its time
    sys.exit(main())
