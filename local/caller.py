"""Runs the client's own check against the deployment, as a user would after `pulumi up`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from .paths import ROOT, LocalError


def check(urls: Mapping[str, str], proxy: str = "") -> None:
    """Run `global-integers check` against these regions. It prints its result.

    Args:
        urls: region → its URL.
        proxy: the URL of what stands for the address here, if the URLs are names of it.

    Raises:
        LocalError: the check found something wrong, and has printed it.
    """
    print("global-integers check", flush=True)
    through = dict.fromkeys(("http_proxy", "HTTP_PROXY"), proxy) | {"no_proxy": "", "NO_PROXY": ""} if proxy else {}
    done = subprocess.run(
        [sys.executable, "-m", "global_integers", "--urls", json.dumps(dict(urls)), "--no-sign", "check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "src"), **through},
        check=False,
    )
    if done.returncode:
        raise LocalError("the deployment failed its check; what is wrong is printed above")
