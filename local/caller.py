"""Runs the client's own check against the deployment, as a user would after `pulumi up`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from .paths import ROOT, LocalError


def check(urls: Mapping[str, str]) -> None:
    """Run `global-integers check` over these regions, and print what it prints.

    Raises:
        LocalError: something is wrong, and was printed.
    """
    print("global-integers check", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(dict(urls)), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "src")},
        check=False,
    )
    if done.returncode:
        raise LocalError("the check of the deployment has failed; what is wrong is printed above")
