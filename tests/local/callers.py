"""Identities that may call, and calls signed as docs/api.md says: by its command, by its program, or tampered with."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.machine import HANGING, mint

REGION = "eu-west-1"
"""The page's."""


def block(language: str) -> str:
    """Return the only block of code in this language in the section on callers."""
    section = (ROOT / "docs" / "api.md").read_text().partition("## Who may call")[2].partition("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return code


def allowing(action: str, resource: str = "*", effect: str = "Allow") -> list[dict[str, Any]]:
    """Return the statements of a policy."""
    return [{"Effect": effect, "Action": action, "Resource": resource}]


def document(statements: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def user(aws: Aws, statements: Sequence[Mapping[str, Any]], name: str = "") -> Credentials:
    """Return the keys of a new user with this policy."""
    iam, name = aws.client("iam", REGION), name or f"user-{uuid4()}"
    iam.create_user(UserName=name)
    if statements:
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=document(statements))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


def role_session(aws: Aws, statements: Sequence[Mapping[str, Any]], name: str, path: str = "/") -> Credentials:
    """Return temporary keys of a new role with this policy, as a function or a signed-on person has them."""
    iam = aws.client("iam", REGION)
    trust = document([{"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}])
    arn = iam.create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document(statements))
    keys = aws.client("sts", REGION).assume_role(RoleArn=arn, RoleSessionName="session")["Credentials"]
    return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])


def signed(url: str, keys: Credentials, service: str, region: str = REGION) -> dict[str, str]:
    """Return the headers of a signed POST."""
    request = AWSRequest("POST", url)
    cast("Any", SigV4Auth(keys, service, region)).add_auth(request)
    return {str(name): str(value) for name, value in cast("Any", request.headers).items()}


def environment(url: str, keys: Credentials) -> dict[str, str]:
    own = {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
    return {**os.environ, "NO_PROXY": "127.0.0.1", "URL": url, "AWS_SESSION_TOKEN": keys.token or "", **own}


def curl(url: str, keys: Credentials, *options: str) -> tuple[int, Any]:
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


def python(url: str, keys: Credentials) -> "subprocess.CompletedProcess[str]":
    """Run the page's program."""
    command = [sys.executable, "-c", block("python")]
    return subprocess.run(command, env=environment(url, keys), capture_output=True, text=True, timeout=HANGING)


def post(url: str, keys: Credentials, send_to: str | None = None, later: timedelta = timedelta()) -> int:
    """Sign a request for `url`, send it there or elsewhere, now or `later`. Return the status."""
    with pytest.MonkeyPatch.context() as patch:
        then = datetime.now(UTC) - later
        patch.setattr("botocore.auth.get_current_datetime", lambda: then.replace(tzinfo=None))
        headers = signed(url, keys, "lambda")
    return mint(send_to or url, headers=headers)[0]
