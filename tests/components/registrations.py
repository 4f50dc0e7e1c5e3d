"""What deployments register, as text files: each resource once for all regions where it is the same.

`make fix` writes them. Policies, protection and what waits for what are not in them: tests say what these must be.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tests.components.aws_answers import ACCOUNT, PERMISSION, POLICY, TABLE_POLICY
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy

REGISTERED = sorted((Path(__file__).parent / "registered").glob("*.txt"))

DOMAIN = "integers.example.com"
SHOWN: dict[str, Any] = {"apiGateway": True, "leaving": ["us-west-2"], "dashboard": True, "openCounters": True}
RULES: dict[str, Any] = {
    "budget": 5,
    "alarmEmails": ["ops@shop.example"],
    "iamPath": "/teams/shop/",
    "permissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/boundary",
    "kmsKeys": {region: f"arn:aws:kms:{region}:{ACCOUNT}:key/{region}" for region in THREE},
}

CONFIGURATIONS = {
    "signed": config(*THREE),
    "ruled": config(*THREE, **RULES),
    "leaving": config(*THREE, **SHOWN),
    "signed_domain": config(*THREE, **SHOWN, domain=DOMAIN, hostedZone="example.com", functionUrls=False),
    "public_domain": config(*THREE, **SHOWN, domain=DOMAIN, authorization="NONE", corsOrigins=["https://shop.example"]),
}
BASES = {"ruled": "signed", "leaving": "signed", "signed_domain": "leaving", "public_domain": "leaving"}
"""Of these, a file has only what differs from another one."""

LEFT_OUT = {POLICY, TABLE_POLICY, PERMISSION}
"""Rights, which tests name one by one."""

TEXTS_AND_CODE = {
    *("assumeRolePolicy", "body", "triggers", "dashboardBody", "alarmDescription", "description"),
    *("code", "build", "BUILD", "digest", "requested"),
}
"""Inputs that other tests look into, and what changes with the code and the time."""

REGION = re.compile(r"[a-z]{2}-[a-z]+-\d")
OF_HOME = re.compile(rf"(?<=coordinator-){HOME}|{HOME}(?=:{ACCOUNT}:function:{PREFIX}-coordinate)")


def renewed(text: str) -> str:
    """Return the text of a file, which begins with a configuration's name: a paragraph for each set of regions."""
    name = text.split()[0].removesuffix(":")
    base = BASES.get(name)
    now = described(deploy(CONFIGURATIONS[name]))
    before = described(deploy(CONFIGURATIONS[base])) if base else {}
    regions: dict[str, list[str]] = {}
    for place in sorted({*now, *before}):
        old, new = before.get(place), now.get(place)
        if old != new:
            sign = "" if not base else "+ " if old is None else "- " if new is None else "~ "
            changed = {key: value for key, value in (new or {}).items() if (old or {}).get(key) != value}
            gone = dict.fromkeys((old or {}).keys() - new.keys(), "") if new is not None else {}
            inputs = [f"{key}={value}" for key, value in sorted({**changed, **gone}.items())]
            regions.setdefault(" ".join([sign + place[1], *inputs]), []).append(place[0])
    paragraphs: dict[str, list[str]] = {}
    for line, where in regions.items():
        paragraphs.setdefault(", ".join(where) or "in no region", []).append(line)
    title = f"{name}: what differs from {base}" if base else name
    return "\n\n".join([title, *("\n".join([where, *lines]) for where, lines in paragraphs.items())]) + "\n"


def described(deployment: Deployment) -> dict[tuple[str, str], dict[str, str]]:
    """Return the region of each resource, or "", with its type and name → its inputs. Outputs are among them."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for made in deployment.resources:
        if made.custom and made.type not in LEFT_OUT:
            name = made.name.removeprefix("integers-")
            region = [made.inputs.get("region", ""), *REGION.findall(name)][-1]
            inputs = {**made.inputs, "createTimeout": made.create_timeout}
            if name.startswith(f"coordinator-{HOME}-") and inputs.get("region") == HOME:
                inputs["region"] = "home"
            place = region, short(f"{made.type.split(':')[-1]} {name}", region)
            found[place] = {key: short(text, region) for key, text in flat("", inputs)}
    for key, value in deployment.outputs.items():
        found["", f"output {key}"] = {name: short(text, "") for name, text in flat("", value)}
    return found


def flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Return the path of each entry, like `environment.variables.LEASE`, and its text. Empty ones aren't there."""
    if path == "input" and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        for key, entry in cast("dict[str, Any]", value).items():
            if key not in TEXTS_AND_CODE:
                yield from flat(f"{path}.{key}".removeprefix("."), entry)
    elif value not in ("", []):
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)
        yield path, re.sub(r"(?<=\d)\.0\b", "", text).replace('"', "")


def short(text: str, region: str) -> str:
    """Return a text with `{}` for the region, `…` for the stack, and without the ids that AWS gives."""
    text = OF_HOME.sub("home", text).replace(region or "nowhere", "{}").replace(PREFIX, "…").replace(ACCOUNT, "account")
    return re.sub("[0-9a-f]{32}|(?<=AROA)[0-9A-F]{17}", "…", text)
