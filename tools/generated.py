"""What is written from the code: `python -m tools.generated`, or `make fix`. Then read the difference.

A test compares each of these files with what would be written.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pulumi.provider.experimental.analyzer import Analyzer

from components.monitoring.alarms import ALARMS, Alarm, alarms
from components.plugin.__main__ import NAME, Package
from components.settings import NOT_IN_PROJECT_NAMESPACE
from components.settings.args import SETTINGS, GlobalIntegersArgs
from global_integers_core.names import camel
from local.paths import ROOT
from proof.bench import price, public_stack, strangers
from proof.bench.price_list import ALARM, COMPOSITE_ALARM, DASHBOARD, HTTP_API_REQUEST, METRIC, REST_API_REQUEST
from proof.simulation.losses import Losses, action, all_losses, outcome
from proof.simulation.transcript import play
from tests.components.registrations import REGISTERED, renewed
from tests.components.running import HOME, THREE, stack_metrics
from tests.components.settings.refused import REFUSALS, refused
from tests.docs.calls import unseen
from tools.typescript import reference

# isort: split
from coordinate.metrics import OF_A_REGION, OF_ALARMS, OF_DASHBOARD  # found by the imports above

TOKEN = f"{NAME}:index:GlobalIntegers"

SCHEMA = ROOT / "tests" / "components" / "plugin" / "schema.json"

TRANSCRIPTS = sorted((ROOT / "tests" / "proof" / "simulation" / "transcripts").glob("*.txt"))

SETTINGS_TABLE = re.compile(r"(?<=\|---\|---\|---\|---\|\n)(\| `\w+` .*\n)+")

REFUSALS_TABLE = re.compile(r"(?<=\| situation \| refused \| what to do \|\n\|---\|---\|---\|\n)(\| .*\n)*")

THRESHOLDS_TABLE = re.compile(r"(?<=\| goes off at \| default \|\n\|---\|---\|---\|---\|\n)(\| .*\n)+")

MANY = 3

REGIONS = "[abc](, [abc])*"
"""The regions of the matrix of losses."""


def schema() -> dict[str, Any]:
    """Return the Pulumi package's schema, without the version."""
    return {name: value for name, value in json.loads(Package().schema or "").items() if name != "version"}


def declared() -> dict[str, dict[str, Any]]:
    """Return `config` of `Pulumi.yaml`: each setting of the project. A stack has `aws:region` under another name."""
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


def _settings() -> str:
    """Return the rows of all settings."""
    return "".join(
        f"| `{key}` | {entry['type']} | {_default(entry)} | {entry['description']} |\n"
        for key, entry in declared().items()
    )


def _default(entry: dict[str, Any]) -> str:
    if "default" not in entry:
        return "required"
    default = entry["default"]
    return f"`{default if default and isinstance(default, str) else json.dumps(default)}`"


@cache
def refusals() -> list[str]:
    """Return a row for each refusal, with the fewest losses that lead to it, of a stack of one region."""
    found: dict[tuple[str, str], set[frozenset[str]]] = {}
    for losses in all_losses():
        if len(losses.regions) == 1 and not losses.warm:
            for refusal in outcome(losses):
                found.setdefault((shown(refusal), action(refusal)), set()).add(_causes(losses))
    return sorted(
        f"| {'; or '.join(sorted(_fewest(lost)))} | {refusal} | {todo[0].upper()}{todo[1:]}. |\n"
        for (refusal, todo), lost in found.items()
    )


def _causes(losses: Losses) -> frozenset[str]:
    """Return in words what is lost, however it is lost."""
    words = {
        "the layouts table was lost": losses.layouts not in ("present", "without its registers"),
        "the registers were lost": losses.layouts == "without its registers",
        "the mirror was lost": losses.mirror != "present",
        "the receipts tables were lost": losses.receipts != "present",
        "a counters table was lost": bool({"recreated", "restored"} & {*losses.regions}),
        "a region doesn't answer": "unreachable" in losses.regions or not losses.role,
        "Pulumi's state was lost": not losses.remembered,
        "a floor and an answer stand in the settings": losses.answered,
    }
    return frozenset(word for word, lost in words.items() if lost)


def _fewest(lost: set[frozenset[str]]) -> list[str]:
    """Return those that have no other one among their parts, in words. If there are many, what they have in common."""
    least = [each for each in lost if not any(other < each for other in lost)]
    if len(least) > MANY:
        return [f"{' and '.join(sorted(least[0].intersection(*least)))}, whatever else was lost"]
    return [" and ".join(sorted(each)) for each in least]


def shown(refusal: str) -> str:
    """Return the beginning of a refusal, without names."""
    text = re.sub(r"^[a-z]: ", "", refusal)
    text = re.sub(rf"none of {REGIONS}", "none of <regions>", text)
    text = re.sub(rf"\b{REGIONS}\b(?=( must| answers|, so| already| was)|$)", "<region>", text)
    text = re.sub(r"\(layouts \d+\)", "(…)", text)
    return f"`{' '.join(text.split()[:9])} …`"


@cache
def _sent() -> list[strangers.Measured]:
    """Return what strangers' requests cost, which takes seconds."""
    return strangers.measured()


def _region_costs() -> str:
    costs = public_stack.functions(public_stack.largest(_sent()))
    usual = round(max(together for kind, (*_, together, _) in costs.items() if "openCounters" not in kind), 2)
    return f"a region costs at most {usual:.2f} a day, three regions {3 * usual:.2f}"


def _domain_alarms() -> str:
    own, both = (len(alarms(stack_metrics(HOME, apis=apis))) for apis in (False, True))
    return f"With `domain`, each region has {spelt(both - own)} alarms more, for ${(both - own) * ALARM:.2f}"


def _threshold(alarm: Alarm) -> str:
    where = "every region" if alarm.every_region else "home region"
    default = f"{alarm.runs} × `scheduleMinutes` + {alarm.default}" if alarm.runs else alarm.default
    return f"| [`{alarm.name}`](#{alarm.name.lower()}) | {where} | {alarm.goes_off} | {default} |\n"


def _cost(regions: int) -> str:
    """Return the row of what a stack of so many regions pays for its alarms, and for the dashboard."""
    made = len(alarms(stack_metrics(HOME, *(f"region-{n}" for n in range(1, regions)))))
    of_metrics, of_alarms, composite = len(OF_ALARMS) * METRIC, made * ALARM, COMPOSITE_ALARM
    month = of_metrics + of_alarms + composite
    shown = month + DASHBOARD + (len(OF_DASHBOARD) + len(OF_A_REGION) * regions) * METRIC
    parts = f"{len(OF_ALARMS)}: ${of_metrics:.2f} | {made}: ${of_alarms:.2f} | ${composite:.2f}"
    return f"| {regions} | {parts} | ${month:.2f} | ${shown:.2f} |\n"


WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spelt(number: int) -> str:
    """Return a number as running text has it."""
    return WORDS[number] if 0 < number < len(WORDS) else f"{number:,}"


def _domain_region() -> str:
    cases = price.cases()
    public, signed = (price.of_health_checks(cases[title]) / len(THREE) for title in ("all, public", "all, signed"))
    return f"| ${public:.2f} | ${signed:.2f} |"


def _million(way: str = price.ONE, more: float = 0) -> str:
    """Return what a million integers cost, minted in this way, and with so much more for a request."""
    return price.rounded(sum(price.million()[way]) + price.MILLION * more)


def _idle() -> str:
    return f"${price.total(price.cases()['default']):.2f} a month"


def _hours() -> str:
    return str(SETTINGS["idempotency_hours"].metadata["allowed"].default)


PARTS: Mapping[re.Pattern[str], Callable[[], str]] = {
    SETTINGS_TABLE: _settings,
    REFUSALS_TABLE: lambda: "".join(refusals()),
    re.compile(r"(?<=```text\n)a month, three regions .*?(?=\n```)", re.DOTALL): price.table,
    re.compile(r"\| \| request \| duration, .*\n(\|.*\n)+"): price.table_of_a_million,
    re.compile(r"\| all requests are \| bytes \|.*\n(\|.*\n)+"): lambda: public_stack.tables_of_costs(_sent())[0],
    re.compile(r"\| all requests are \| per second \|.*\n(\|.*\n)+"): lambda: public_stack.tables_of_costs(_sent())[1],
    re.compile(r"(?<=\| command \| what it must show \|\n\|---\|---\|\n)(\| .*\n)*"): unseen,
    THRESHOLDS_TABLE: lambda: "".join(map(_threshold, ALARMS.values())),
    re.compile(r"(?<=\| a month \| with the dashboard \|\n\|---\|---\|---\|---\|---\|---\|\n)(\| .*\n)+"): lambda: (
        "".join(map(_cost, (1, 3, 30)))
    ),
    re.compile(r"With `domain`, each region has \w+ alarms more, for \$\S+\d"): _domain_alarms,
    re.compile(r"\$[0-9.]+ a month(?=\]\(docs/performance\.md#if-nobody-calls-it\)| if nobody calls;)"): _idle,
    re.compile(r"a region costs at most \S+ a day, three regions \S+\d"): _region_costs,
    re.compile(r"(?<=\| each region, a month of 30 days )\|.*\|"): _domain_region,
    re.compile(r"(?<=a million integers cost )\$[\d.]+\d"): _million,
    re.compile(r"(?<=with `lease: 100` )\$[\d.]+\d"): lambda: _million(price.LEASED),
    re.compile(r"(?<=receipts less than \$0\.01; with `idempotencyHours: 8760` )\$[\d.]+\d"): lambda: price.rounded(
        price.stored(price.MILLION, 8760)
    ),
    re.compile(r"(?<=whose storage adds )\$[\d.]+\d"): lambda: price.rounded(public_stack.of_receipts(24)),
    re.compile(r"(?<=with `idempotencyHours: 8760`, )\$[\d.]+\d"): lambda: price.rounded(
        public_stack.of_receipts(8760)
    ),
    re.compile(r"(?<=in blocks of 100 )\$[\d.]+\d"): lambda: _million(price.BLOCK),
    re.compile(r"(?<=\| \[price\]\(performance\.md#price\) of a million integers )\|.*\|"): lambda: (
        f"| {_million()} | {_million(price.GATEWAY)} |"
    ),
    re.compile(r"(?<=\| a million integers )\|.*\|"): lambda: (
        f"| {_million(more=HTTP_API_REQUEST)} | {_million(more=REST_API_REQUEST)} |"
    ),
    re.compile(r"(?<=within )\d+(?= hours \((setting )?`idempotencyHours`\))"): _hours,
}
"""What is written in pages: how each part is found, and what returns it."""

SLOW = (REFUSALS_TABLE,)
"""What takes half a minute."""


def _page(text: str) -> str:
    """Return the text of a page with all that is written in pages."""
    for pattern, written in PARTS.items():
        text = pattern.sub(lambda _, written=written: written(), text)
    return text


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "openapi.yaml"]

FILES: Mapping[Path, Callable[[str], str]] = {
    SCHEMA: _schema,
    ROOT / "Pulumi.yaml": _project,
    **dict.fromkeys(PAGES, _page),
    **dict.fromkeys(TRANSCRIPTS, play),
    **dict.fromkeys(REGISTERED, renewed),
    REFUSALS: refused,
    ROOT / "docs" / "reference" / "typescript.md": reference,
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
