"""What a run knows of the local server's processes."""

import socket
import subprocess
import sys

import psutil

from proof.chaos.stack import _has_socket
from tests.local.machine import HANGING


def test_a_process_has_a_socket_or_none() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as other:
        process = psutil.Process(other.pid)
        with socket.create_server(("127.0.0.1", 0)):
            assert (_has_socket(psutil.Process()), _has_socket(process)) == (True, False)
        other.communicate("\n", timeout=HANGING)
    assert not _has_socket(process)
