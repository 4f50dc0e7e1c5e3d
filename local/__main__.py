"""`python -m local`: deploy the stack to an AWS API server on this machine, look at it, end it."""

import os
import signal
import sys
from importlib.util import find_spec
from typing import NoReturn


def _end(_signal: int, _frame: object) -> NoReturn:
    os.write(2, b"\ninterrupted; nothing was begun\n")
    os._exit(130)


# Ctrl-C during the imports below, which take half a second: no traceback, and nothing to undo.
signal.signal(signal.SIGINT, _end)

if find_spec("ministack") is None:
    sys.exit("the dependencies aren't installed for this Python; after `make up`: .venv/bin/python -m local")

from .command_line import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
