"""`python -m chaos.guard` ends the server and the gateway when its parent ends, even if the parent is killed.

It notices that by the end of its standard input.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress

from local.apigateway import GATEWAY
from local.paths import state_folder
from local.server.server import SERVICE


def end_services() -> None:
    """End what was started in the state folder, if it runs. It keeps nothing, so it is killed."""
    for service in (GATEWAY, SERVICE):
        recorded = service.recorded()
        if recorded and service.alive(recorded[0]):
            with suppress(ProcessLookupError):
                os.killpg(recorded[0], signal.SIGKILL)  # it leads a group, and the functions belong to that
        service.stop()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_services()
    shutil.rmtree(state_folder(), ignore_errors=True)
