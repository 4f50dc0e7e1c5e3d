"""`python -m local`: deploy the stack to an AWS API server on this machine, look at it, end it."""

try:  # first of all: the imports below take half a second
    from .environment import isolate
    from .terminal import end_on_ctrl_c

    end_on_ctrl_c()
    isolate()
except KeyboardInterrupt:
    raise SystemExit(130) from None

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("ministack") is None:
    sys.exit("the dependencies aren't installed for this Python; after `make up`: .venv/bin/python -m local")

try:
    from .command_line import main
except FileNotFoundError as error:  # a library looks for a folder for temporary files
    if error.filename:
        raise
    sys.exit(f"error: {error.strerror}: free space in one of them, or set TMPDIR to another folder")

for name in ("stdout", "stderr"):  # Python has none where it was closed (`>&-`)
    setattr(sys, name, getattr(sys, name) or Path(os.devnull).open("w"))  # noqa: SIM115

gc.set_threshold(100_000)  # a command lives for seconds; looking for cycles more often takes a sixth of its time

if __name__ == "__main__":
    sys.exit(main())
