"""Calls signed as docs/api.md says: its command, its program, and requests that were tampered with."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.paths import ROOT
from tests.local.machine import HANGING, OPENER, Machine

REGION = "eu-west-1"
"""The page's."""


def block(language: str) -> str:
    """Return the only block of code in this language in the section on callers."""
    section = (ROOT / "docs" / "api.md").read_text().partition("## Who may call")[2].partition("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return code


def keys_of(identifier: str, secret: str) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": identifier, "AWS_SECRET_ACCESS_KEY": secret}


def client(machine: Machine, service: str, keys: dict[str, str]) -> Any:
    session = boto3.Session(
        keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"], keys.get("AWS_SESSION_TOKEN"), region_name=REGION
    )
    return cast("Any", session.client)(service, endpoint_url=machine.endpoint)


def environment(url: str, keys: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "NO_PROXY": "127.0.0.1", "URL": url, "AWS_SESSION_TOKEN": "", **keys}


def curl(url: str, keys: dict[str, str], *options: str) -> tuple[int, Any]:
    """Run the page's command. Return the status and the document."""
    result = subprocess.run(
        ["bash", "-euc", f"{block('sh').rstrip()} -sS -w '\\n%{{http_code}}' \"$@\"", "curl", *options],
        env=environment(url, keys),
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGING,
    )
    body, _, status = result.stdout.rpartition("\n")
    return int(status), json.loads(body)


def python(url: str, keys: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run the page's program."""
    command = [sys.executable, "-c", block("python")]
    return subprocess.run(command, env=environment(url, keys), capture_output=True, text=True, timeout=HANGING)


def post(url: str, keys: dict[str, str], send_to: str | None = None, later: timedelta = timedelta()) -> int:
    """Sign a request for `url`, send it there or elsewhere, now or `later`. Return the status."""
    request = AWSRequest(method="POST", url=url)
    signer: Any = SigV4Auth(Credentials(keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"]), "lambda", REGION)
    with pytest.MonkeyPatch.context() as patch:
        then = datetime.now(UTC) - later
        patch.setattr("botocore.auth.get_current_datetime", lambda: then.replace(tzinfo=None))
        signer.add_auth(request)
    headers: dict[str, str] = dict(cast("Any", request.headers))
    try:
        with OPENER.open(
            urllib.request.Request(send_to or url, method="POST", headers=headers), timeout=HANGING
        ) as response:
            return response.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
