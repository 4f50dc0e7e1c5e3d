"""What is written from the code: `python -m tools.generated`, or `make fix`. Then read the difference.

A test compares each of these files with what would be written.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pulumi.provider.experimental.analyzer import Analyzer

from components.monitoring.alarms import ALARMS, Alarm, alarms
from components.plugin.__main__ import NAME, Package
from components.settings import NOT_IN_PROJECT_NAMESPACE
from components.settings.args import SETTINGS, GlobalIntegersArgs
from components.settings.values import camel
from local.paths import ROOT
from proof.bench import price, public_stack
from proof.bench.price_list import ALARM, COMPOSITE_ALARM, DASHBOARD, METRIC
from proof.simulation.losses import action, all_losses, causes, outcome
from proof.simulation.transcript import play
from tests.components.running import HOME, THREE, stack_metrics

# isort: split
from coordinate.metrics import OF_A_REGION, OF_ALARMS, OF_DASHBOARD  # found by the imports above

TOKEN = f"{NAME}:index:GlobalIntegers"

SCHEMA = ROOT / "tests" / "components" / "plugin" / "schema.json"

TRANSCRIPTS = sorted((ROOT / "tests" / "proof" / "simulation" / "transcripts").glob("*.txt"))

SETTINGS_TABLE = re.compile(r"(?<=\|---\|---\|---\|---\|\n)(\| `\w+` .*\n)+")

REFUSALS_TABLE = re.compile(r"(?<=\| situation \| refused \| what to do \|\n\|---\|---\|---\|\n)(\| .*\n)*")

PRICE_TABLE = re.compile(r"(?<=```text\n)a month, three regions .*?(?=\n```)", re.DOTALL)

COSTS_TABLE = re.compile(r"\| all requests are \| bytes \|.*\n(\|.*\n)+")

APIS_TABLE = re.compile(r"\| all requests are \| per second \|.*\n(\|.*\n)+")

THRESHOLDS_TABLE = re.compile(r"(?<=\| goes off at \| default \|\n\|---\|---\|---\|---\|\n)(\| .*\n)+")

ALARM_COSTS = re.compile(r"(?<=\| a month \| with the dashboard \|\n\|---\|---\|---\|---\|---\|---\|\n)(\| .*\n)+")

DOMAIN_COSTS = re.compile(r"With `domain`, each region has \w+ alarms more, for \$\S+\d")

IDLE_COSTS = re.compile(r"\$[0-9.]+ a month(?=\]\(docs/performance\.md#if-nobody-calls-it\)| if nobody calls;)")

REGION_COSTS = re.compile(r"a region costs at most \S+ a day, three regions \S+\d")

DOMAIN_REGION_COSTS = re.compile(r"(?<=\| each region, a month of 30 days )\|.*\|")

HOURS = re.compile(r"(?<=within )\d+(?= hours \((setting )?`idempotencyHours`\))")

MANY = 3

REGIONS = "[abc](, [abc])*"
"""The regions of the matrix of losses."""


def schema() -> dict[str, Any]:
    """Return the Pulumi package's schema, without the version."""
    return {name: value for name, value in json.loads(Package().schema or "").items() if name != "version"}


def declared() -> dict[str, dict[str, Any]]:
    """Return `config` of `Pulumi.yaml`: each setting, but for those that a stack has elsewhere."""
    component = schema()["resources"][TOKEN]
    found: dict[str, dict[str, Any]] = {}
    for name, setting in SETTINGS.items():
        if name not in NOT_IN_PROJECT_NAMESPACE:
            key = camel(name)
            text = Analyzer("docs").get_docstring(GlobalIntegersArgs, name) or ""
            default = {"default": setting.metadata["allowed"].default}
            found[key] = {
                **_type(component["inputProperties"][key]),
                **({} if key in component["requiredInputs"] else default),
                "description": " ".join(text.split()),
            }
    return found


def _type(of: dict[str, Any]) -> dict[str, Any]:
    """Return a property's type without its texts."""
    return {"type": of["type"], **({"items": _type(of["items"])} if "items" in of else {})}


def _schema(_: str) -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _project(text: str) -> str:
    """Return the text of `Pulumi.yaml` with the settings."""
    config = yaml.safe_dump({"config": declared()}, sort_keys=False, allow_unicode=True, width=10_000)
    return text.partition("config:\n")[0] + config


def _settings(text: str) -> str:
    """Return the text of docs/settings.md with the settings in its table."""
    rows = [
        f"| `{key}` | {entry['type']} | {_default(entry)} | {entry['description']} |\n"
        for key, entry in declared().items()
    ]
    return SETTINGS_TABLE.sub(lambda _: "".join(rows), text, count=1)


def _default(entry: dict[str, Any]) -> str:
    if "default" not in entry:
        return "required"
    default = entry["default"]
    return f"`{default if default and isinstance(default, str) else json.dumps(default)}`"


def _refusals(text: str) -> str:
    """Return the text of docs/layouts.md with what is refused after which losses."""
    return REFUSALS_TABLE.sub(lambda _: "".join(refusals()), text, count=1)


@cache
def refusals() -> list[str]:
    """Return a row for each refusal, with the fewest losses that lead to it, of a stack of one region."""
    found: dict[tuple[str, str], set[frozenset[str]]] = {}
    for losses in all_losses():
        if len(losses.regions) == 1 and not losses.warm:
            for refusal in outcome(losses):
                found.setdefault((shown(refusal), action(refusal)), set()).add(causes(losses))
    return sorted(
        f"| {'; or '.join(sorted(_fewest(lost)))} | {refusal} | {todo[0].upper()}{todo[1:]}. |\n"
        for (refusal, todo), lost in found.items()
    )


def _fewest(lost: set[frozenset[str]]) -> list[str]:
    """Return those that have no other one among their parts, in words. If there are many, what they have in common."""
    least = [each for each in lost if not any(other < each for other in lost)]
    if len(least) > MANY:
        return [f"{' and '.join(sorted(least[0].intersection(*least)))}, whatever else is lost"]
    return [" and ".join(sorted(each)) for each in least]


def shown(refusal: str) -> str:
    """Return the beginning of a refusal, without names."""
    text = re.sub(r"^[a-z]: ", "", refusal)
    text = re.sub(rf"none of {REGIONS}", "none of <regions>", text)
    text = re.sub(rf"\b{REGIONS}\b(?=( must| answers|, so| already| was)|$)", "<region>", text)
    text = re.sub(r"\(layouts \d+\)", "(…)", text)
    return f"`{' '.join(text.split()[:9])} …`"


def _price(text: str) -> str:
    """Return the text of docs/performance.md with what an idle stack costs."""
    return PRICE_TABLE.sub(lambda _: price.table(), text, count=1)


def _costs(text: str) -> str:
    """Return the text of docs/permissions.md with what strangers' requests may cost."""
    sent = public_stack.measured()
    rows = public_stack.rows(public_stack.largest(sent))
    of_apis = public_stack.table_of_apis(public_stack.apis(sent))
    text = COSTS_TABLE.sub(lambda _: f"{public_stack.table(rows)}\n", text, count=1)
    usual = round(max(row.together for kind, row in rows.items() if "openCounters" not in kind), 2)
    text = REGION_COSTS.sub(f"a region costs at most {usual:.2f} a day, three regions {3 * usual:.2f}", text)
    return APIS_TABLE.sub(lambda _: f"{of_apis}\n", text, count=1)


def _alarms(text: str) -> str:
    """Return the text of docs/operations.md with the alarms, and what they cost."""
    text = THRESHOLDS_TABLE.sub(lambda _: "".join(map(_threshold, ALARMS.values())), text, count=1)
    text = ALARM_COSTS.sub(lambda _: "".join(map(_cost, (1, 3, 30))), text, count=1)
    own, both = (len(alarms(stack_metrics(HOME, apis=apis))) for apis in (False, True))
    costs = f"With `domain`, each region has {spelt(both - own)} alarms more, for ${(both - own) * ALARM.dollars:.2f}"
    return DOMAIN_COSTS.sub(lambda _: costs, text, count=1)


def _threshold(alarm: Alarm) -> str:
    where = "every region" if alarm.every_region else "home region"
    default = f"{alarm.runs} × `scheduleMinutes` + {alarm.default}" if alarm.runs else alarm.default
    return f"| [`{alarm.name}`](#{alarm.name.lower()}) | {where} | {alarm.goes_off} | {default} |\n"


def _cost(regions: int) -> str:
    """Return the row of what a stack of so many regions pays for its alarms, and for the dashboard."""
    made = len(alarms(stack_metrics(HOME, *(f"region-{n}" for n in range(1, regions)))))
    of_metrics, of_alarms, composite = len(OF_ALARMS) * METRIC.dollars, made * ALARM.dollars, COMPOSITE_ALARM.dollars
    month = of_metrics + of_alarms + composite
    shown = month + DASHBOARD.dollars + (len(OF_DASHBOARD) + len(OF_A_REGION) * regions) * METRIC.dollars
    parts = f"{len(OF_ALARMS)}: ${of_metrics:.2f} | {made}: ${of_alarms:.2f} | ${composite:.2f}"
    return f"| {regions} | {parts} | ${month:.2f} | ${shown:.2f} |\n"


def _idle(text: str) -> str:
    """Return the text of a page with what three regions cost if nobody calls."""
    return IDLE_COSTS.sub(lambda _: f"${price.total(price.cases()['default']):.2f} a month", text)


WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spelt(number: int) -> str:
    """Return a number as running text has it."""
    return WORDS[number] if 0 < number < len(WORDS) else f"{number:,}"


def _domain(text: str) -> str:
    """Return the text of docs/domain.md with what the health checks of a region cost."""
    public, signed = (
        price.of_health_checks(price.cases()[title]) / len(THREE) for title in ("all, public", "all, signed")
    )
    return DOMAIN_REGION_COSTS.sub(lambda _: f"| ${public:.2f} | ${signed:.2f} |", text)


def _hours(text: str) -> str:
    """Return the text of a page with the hours for which a receipt is kept."""
    return HOURS.sub(str(SETTINGS["idempotency_hours"].metadata["allowed"].default), text)


FILES: dict[Path, Callable[[str], str]] = {
    SCHEMA: _schema,
    ROOT / "Pulumi.yaml": _project,
    ROOT / "docs" / "settings.md": _settings,
    ROOT / "docs" / "layouts.md": _refusals,
    ROOT / "docs" / "api.md": _hours,
    ROOT / "docs" / "openapi.yaml": _hours,
    ROOT / "docs" / "domain.md": _domain,
    ROOT / "docs" / "operations.md": _alarms,
    ROOT / "docs" / "performance.md": _price,
    ROOT / "docs" / "tasks.md": _idle,
    ROOT / "README.md": _idle,
    ROOT / "docs" / "permissions.md": _costs,
    **dict.fromkeys(TRANSCRIPTS, play),
}
"""Each file that is written, at least in part, and what returns its text with that part."""


def rewritten() -> Iterator[Path]:
    """Write each file that differs, and yield it."""
    for path, written in FILES.items():
        before = path.read_text(encoding="utf-8")
        after = written(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            yield path


if __name__ == "__main__":
    for path in rewritten():
        print(f"rewritten: {path.relative_to(ROOT)}")
