"""The settings of a deployment: read and checked all at once, with the defaults filled in; and the desired state."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import pulumi
import yaml
from pulumi.runtime.config import CONFIG, get_config_env

from global_integers_core.lattice import MAX_INTEGER, places
from global_integers_core.names import CHECK_COUNTER, MAX_BLOCK, camel

from .args import SETTINGS, GlobalIntegersArgs, Settings
from .aws_regions import waves
from .rules import CHECKS, callers, check_alarm_topics, check_keys, tags, thresholds
from .values import Findings, canonical, checked, is_later, kind, unknown_setting, whole, written

PUBLIC_BLOCK = 100
"""The most integers of one request of the public, unless another limit is set. It bounds how long strangers can make
numbers (docs/permissions.md)."""

PUBLIC_CONCURRENCY = 10
"""The limit on concurrent executions of a public function, unless another one is set. It bounds what an attack costs
(docs/permissions.md): a Function URL serves at most 10 requests per second for each."""


class SettingsError(pulumi.RunError):
    """One or more settings are wrong. The message has a line for each; no resource was registered."""


def settings_of(
    args: GlobalIntegersArgs | Mapping[str, Any], prefix: str, findings: Findings | None = None
) -> Settings:
    """Return the settings, checked and with the defaults filled in.

    Args:
        args: a dict has the dataclass's attributes; its integers may be whole floats, as other languages send them.
        prefix: what names begin with, unless `args` says.
        findings: what was found wrong before, and in whose words. By default in those of a program in Python.

    Raises:
        SettingsError: with every wrong setting, its value and what is allowed.
    """
    passed: dict[str, Any] = vars(args) if isinstance(args, GlobalIntegersArgs) else dict(args)
    findings = findings or Findings()
    values: dict[str, Any] = {name: passed.get(name) for name in SETTINGS}
    if values["prefix"] is None:
        values["prefix"] = prefix
    asked = GlobalIntegersArgs(**values)
    settings = Settings(**dict(checked(asked, findings)))
    settings.hosted_zone = settings.hosted_zone.removesuffix(".")
    for check in CHECKS:
        check(settings, findings)
    settings = replace(
        settings,
        reserved_concurrency=settings.reserved_concurrency or (-1 if settings.signed else PUBLIC_CONCURRENCY),
        max_block=settings.max_block or (MAX_BLOCK if settings.signed else PUBLIC_BLOCK),
        floors={counter: whole(floor) for counter, floor in settings.floors.items()},
        recovery={key: whole(value) if key == "above" else value for key, value in settings.recovery.items()},
        alarms=thresholds(settings),
        waves=waves(settings, findings),
        callers=callers(settings, findings),
        tags=tags(settings, findings),
    )
    known = {findings.key(name): name for name in SETTINGS}
    findings.errors += [
        unknown_setting(name, [known[name]] if name in known else known)  # a dict in Python has other names
        for name in passed
        if name not in SETTINGS
    ]
    if not findings.errors:
        _check_room(settings, findings)
    if findings.errors:
        raise SettingsError("\n".join(["the settings are wrong:", *(f"  {line}" for line in findings.errors)]))
    return replace(settings, **{name: _checked_later(settings, name, findings) for name in OF_OTHERS})


OF_OTHERS = {"kms_keys": check_keys, "alarm_topics": check_alarm_topics, "tags": tags}
"""Settings whose values may be outputs, and what checks them."""


def _checked_later(settings: Settings, name: str, findings: Findings) -> dict[str, Any]:
    """Return a setting whose outputs fail if their values, once they are known, are wrong."""
    entries: Mapping[str, Any] = getattr(settings, name)

    def checked(entry: str, value: str) -> str:
        known = replace(settings, **{name: {**entries, entry: value}})
        findings.of_known(lambda found: OF_OTHERS[name](known, found))
        return value

    return {
        entry: value.apply(partial(checked, entry)) if is_later(value) else value for entry, value in entries.items()
    }


MAX_RECORD = 409_600
"""Bytes of an item, with the names of its attributes (DynamoDB guide, "Quotas": 400 KB). The record is one item."""

MAX_REPLY = 6_291_556
"""Bytes of a function's response (Lambda's error `Function.ResponseSizeTooLarge` names this number)."""

MAX_EPOCH = 9_999_999_999
"""No counter gets this far: after a loss of everything, an epoch's number is the time in seconds since 1970."""

LABEL = "2026-11-21T00:00:00.000"
"""As long as the label of any table's stream."""

OTHERS = 2048
"""Bytes for the other attributes of the record and of its copy, which have up to 1,800 with ten windows."""


def least_window(settings: Settings) -> int:
    """Return the smallest window of any counter: with `apiGateway`, what its rate may use until the next scheduled run.

    API Gateway without a function can't ask for more. A limit is raised when a quarter of a window is used, by a run
    that takes up to a minute.
    """
    if not settings.api_gateway:
        return settings.window
    return max(settings.window, -(-settings.api_gateway_rate * 60 * (settings.schedule_minutes + 1) * 4 // 3))


def desired_state_of(settings: Settings) -> dict[str, Any]:
    """Return the part of a desired state that comes from the settings.

    From `authorization` on, the coordinator reads none of it: the next preview compares it. It has only settings that
    change the minting functions, so that a deployment calls the coordinator anyway.
    """
    return {
        "regions": list(settings.regions),
        "leaving": list(settings.leaving),
        "counters": [*settings.counters, CHECK_COUNTER],
        "defaultCounter": settings.default_counter,
        "floors": dict(settings.floors),
        "recovery": dict(settings.recovery),
        "window": least_window(settings),
        "scheduleMinutes": settings.schedule_minutes,
        "authorization": settings.authorization,
        "memorySize": settings.memory_size,
        "callers": {pattern: list(counters) for pattern, counters in settings.callers.items()},
        "domain": settings.domain,
        "functionUrls": settings.function_urls,
        "openCounters": settings.open_counters,
        "paused": list(settings.paused),
    }


def _check_room(settings: Settings, findings: Findings) -> None:
    counters, room = len(settings.counters), fitting(settings)
    if room < 1:
        findings.add(
            "floors",
            f"{len(settings.floors):,} floors leave no room for a counter in the record of the deployment; a floor can "
            "be removed once it has been deployed",
        )
    elif room < counters:
        findings.add(
            "counters",
            f"{counters:,} counters; the first {room:,} of these names fit into the record of the deployment and the "
            "coordinator's reply. Create the others without a deployment: they are not a setting, and as many as you "
            "like (docs/tasks.md#create-a-counter-without-a-deployment)",
        )


def fitting(settings: Settings) -> int:
    """Return how many of the counters, the first ones, fit into the record and into the reply. 0 or less is none.

    The record holds the desired state, and each counter's epoch and base. The reply has each counter's layout. Both are
    taken at their largest: the largest numbers, and every region pending.
    """
    regions = [*settings.regions, *settings.leaving]
    home = f"{settings.home} {LABEL}"
    others = {
        "counters": [CHECK_COUNTER],
        "tableLabels": dict.fromkeys(regions, LABEL),
        "layoutsLabel": home,
        "firstLayoutsLabel": home,
    }
    standing = {"epoch": MAX_EPOCH, "base": MAX_INTEGER}
    layout = {region: place._asdict() for region, place in places(settings.regions).items()}
    noted = json.dumps(standing)
    replied = json.dumps({**standing, "limit": MAX_INTEGER, "regions": layout, "pending": regions})
    pending = json.dumps({"counters": {}, "created": [], "pending": regions, "registered": MAX_INTEGER})
    record = len(canonical({**desired_state_of(settings), **others})) + len(pending) + OTHERS
    in_record = accumulate((len(f'"{name}","{name}": {noted}, ') for name in settings.counters), initial=record)
    in_reply = accumulate((len(f'"{name}": {replied}, "{name}", ') for name in settings.counters), initial=len(pending))
    return min(bisect_right([*in_record], MAX_RECORD), bisect_right([*in_reply], MAX_REPLY)) - 1


NOT_IN_PROJECT_NAMESPACE = {"home": "aws:region", "prefix": "<project>-<stack>"}
"""What gives a stack these settings, which it can't set itself."""

RESEMBLES = 0.75
"""A namespace that is at least this similar to the project's is reported as misspelt (0 to 1)."""


def args_of_stack() -> GlobalIntegersArgs:
    """Return what the present stack's configuration asks for, checked in its words, or raise as `settings_of`.

    The component checks it again, since the program may change it.
    """
    project, stack = pulumi.get_project(), pulumi.get_stack()
    config = pulumi.Config(project)
    own = [name for name in SETTINGS if name not in NOT_IN_PROJECT_NAMESPACE]
    values: dict[str, Any] = {"home": pulumi.Config("aws").get("region"), "prefix": f"{project}-{stack}"}
    values |= {name: _decoded(name, config.get(camel(name))) for name in own}
    args = GlobalIntegersArgs(**values)

    def key(name: str) -> str:
        return NOT_IN_PROJECT_NAMESPACE.get(name) or camel(name)

    def example(name: str, value: object) -> str:
        full = key(name) if ":" in key(name) else f"{project}:{key(name)}"
        return f"in Pulumi.{stack}.yaml, {full}: {written(value)}"

    findings = Findings(key, example)
    findings.errors += _unread_keys(project, set(map(camel, own)))
    findings.errors += _reread(Path(f"Pulumi.{stack}.yaml"), project)
    settings_of(args, args.prefix, findings)
    return args


DIGITS = re.compile(r"0|[1-9][0-9]{0,17}")
"""An integer, as a number or as a string."""


def _decoded(name: str, text: str | None) -> Any:
    """Return a value of the setting's type, or the text itself if it is of another.

    A name of digits only is a string in a list, too: `pulumi config set --path counters[1] 2026` stores a number. And
    `pulumi config set-all --path` has stored the integers in objects as strings.
    """
    if text is None:
        return None
    of = kind(name)
    if of is int:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text
    if of is bool:
        return {"true": True, "false": False}.get(text, text)
    try:
        parsed = json.loads(text) if of in (Sequence, Mapping) else None
    except ValueError:
        return text
    if of is Sequence and isinstance(parsed, list):
        return [str(entry) if type(entry) is int else entry for entry in cast("list[Any]", parsed)]
    if of is Mapping and isinstance(parsed, dict):
        entries = cast("dict[str, Any]", parsed).items()
        return {key: int(entry) if DIGITS.fullmatch(str(entry)) else entry for key, entry in entries}
    return text


def _unread_keys(project: str, known: set[str]) -> Iterable[str]:
    for key in sorted({*CONFIG.get(), *get_config_env()}):  # from a test, and from the engine
        namespace, _, name = key.partition(":")
        if namespace == project and name not in known:
            yield unknown_setting(name, known, [NOT_IN_PROJECT_NAMESPACE["home"]])
        elif namespace != project and SequenceMatcher(None, namespace.lower(), project.lower()).ratio() >= RESEMBLES:
            yield f"{key}: nothing reads the namespace {namespace!r}; did you mean {project}:{name}?"
        elif namespace != project and name in known:
            pulumi.log.warn(f"{key}: this program reads {project}:{name} only; is that what you mean?")


NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(?::[0-9_]+)+(?:\.[0-9_]*)?"
    r"|(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?)"
)
"""What some reader of YAML, 1.1 or 1.2, takes for a number or a date, if it has no quotes."""

PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""A number that means the same to all of them."""


def _reread(file: Path, project: str) -> Iterator[str]:
    """Yield what YAML reads as another number than a person: 0777 is 511, 1_000 is 1000, 1:30 is 90 to some readers.

    Pulumi passes on what it has read, and nothing that isn't below `config`. So this looks into the stack's file, which
    is in the working folder unless another one was named.
    """
    try:
        root = cast("Any", yaml).compose(file.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError):  # Pulumi has read another one
        return
    entries: list[tuple[str, Any]] = [("", root)] if root else []
    while entries:
        path, node = entries.pop(0)
        setting = path.removeprefix("config.").removeprefix(f"{project}:")
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                entries += [(path, key), (f"{path}.{key.value}".strip("."), value)]
        elif isinstance(node, yaml.SequenceNode):
            entries += [(path, value) for value in node.value]
        elif not path and node.value.startswith(f"{project}:"):
            yield f"{node.value.partition(':')[2]}: nothing reads it here; write it below `config`, indented"
        elif node.style or not path.startswith("config.") or ":" in setting.partition(".")[0]:
            continue
        elif NUMBER.fullmatch(node.value) and not PLAIN.fullmatch(node.value):
            wanted = "write what you mean in digits only, or a name in quotes"
            yield f"{setting}: YAML reads {node.value} as {_read(node.value)}; {wanted}"


def _read(word: str) -> str:
    """Return a word as YAML reads it. Where its readers differ, they differ about this number."""
    try:
        read = str(int(word, 0) if "o" in word.lower() else yaml.safe_load(word))
    except ValueError:
        read = word
    return "something else" if read == word else read
