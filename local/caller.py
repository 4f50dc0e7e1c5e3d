"""Runs the client's own check against the deployment, as a user would after `pulumi up`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from .paths import ROOT, LocalError


def check(urls: Mapping[str, str]) -> None:
    """Run `global-integers check` against these regions. It prints its result.

    Raises:
        LocalError: the check found something wrong, and has printed it.
    """
    print("global-integers check", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(dict(urls)), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "src")},
        check=False,
    )
    if done.returncode:
        raise LocalError("the deployment failed its check; what is wrong is printed above")
