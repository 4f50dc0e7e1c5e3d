"""What each command of `python -m local` does, and how it prints outputs."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from . import demo as caller
from .apigateway.resources import GATEWAY
from .demo import mint_everywhere, mint_once_moved, next_commands, table
from .domain.instructions import DOMAIN, LOCAL, how_to, moving, plain, serve
from .engine.engine import deploy
from .engine.preview import preview as previewed
from .engine.stack import configuration, project, stacks
from .operations import Deployed
from .paths import LocalError, command, state_folder
from .resources import Aws
from .resources.route53 import make_zone
from .server import server
from .server.process import BackgroundService
from .terminal import clear, is_terminal, say, show


def select(outputs: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path like `regions` or `urls.eu-west-1`.

    Raises:
        LocalError: there is none. The message names what there is.
    """
    value: Any = outputs
    for key in path.split("."):
        known: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
        if key not in known:
            raise LocalError(f"outputs {path}: there is no {key!r}; there is {', '.join(known) or 'nothing below'}")
        value = known[key]
    return value


def as_text(value: Any) -> str:
    """Return a value for a terminal or a script: a string as it is, a mapping with a line for each entry."""
    if not isinstance(value, Mapping):
        return _line(value)
    lines: list[str] = []
    for name, entry in cast("Mapping[str, Any]", value).items():
        if isinstance(entry, Mapping) and entry:
            nested = cast("Mapping[str, Any]", entry)
            lines += [f"{name}:", *(f"  {key}: {_line(below)}" for key, below in nested.items())]
        else:
            lines.append(f"{name}: {_line(entry)}")
    return "\n".join(lines)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


GATEWAY_OF_VERSION_1 = BackgroundService("door", "local.door")


def up(stack: str, overrides: Sequence[str], port: int | None) -> None:
    """Start the server unless it runs, deploy the stack to it, and print what was exported."""
    config, zone = _settings(stack, overrides)
    name = project()["name"]
    expected: list[str] = []
    # What is refused changes nothing, and starts nothing.
    previewed(name, stack, config, _present(), lambda event, _kind, _name: expected.append(event))
    first = all(event == "create" for event in expected)
    started = _server(port)
    if zone.islower():
        make_zone(Aws(started.endpoint), zone)
    counts: Counter[str] = Counter()

    def report(event: str, kind: str, name: str) -> None:
        counts[event] += 1
        if first and is_terminal():
            show(f"  {counts.total()} of {len(expected)} resources: {name}")
        else:
            _show(event, kind, name)

    try:
        exported = serve(stack, deploy(name, stack, config, Aws(started.endpoint), report), started.endpoint)
    except LocalError as error:
        clear()
        ended = "" if started.alive() else f"\nthe local AWS server has ended.\n{server.SERVICE.log_end()}"
        raise LocalError(f"{error}{ended}") from error
    say(f"{stack}: {_summary(counts)}")
    print(as_text(exported))
    if exported["gatewayUrls"]:
        print("gatewayUrls are served by a small process here, by the same templates that API Gateway gets.")
    print(how_to(exported), end="")


def preview(stack: str, overrides: Sequence[str]) -> None:
    """Print what `up` would do."""
    config, _ = _settings(stack, overrides)
    counts, lines = Counter[str](), list[tuple[str, str, str]]()

    def report(event: str, kind: str, name: str) -> None:
        counts[event] += 1
        lines.append((event, kind, name))

    said = previewed(project()["name"], stack, config, _present(), report)
    for line in lines:
        _show(*line)
    for line in said:
        say(line)
    to_do = {event if event == "unchanged" else f"to {event}": count for event, count in counts.items()}
    print(f"{stack}: {_summary(to_do)}; nothing was changed")


def _settings(stack: str, overrides: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return the configuration, and the name of the hosted zone in it."""
    config = configuration(stack, overrides)
    zone = config.get(f"{project()['name']}:hostedZone", "").removesuffix(".")
    if zone.isupper() and "." not in zone:
        raise LocalError(
            f"hostedZone: {zone} is an id; here, give the zone's name, like example.com. `up` makes the zone"
        )
    return config, zone


def _present() -> Aws | None:
    """Return the clients of the server, None if none was started."""
    return Aws(server.running().endpoint) if server.recorded() else None


def _show(event: str, kind: str, name: str) -> None:
    if event != "unchanged":
        say(f"  {event:<9} {kind.rsplit(':')[-1]:<25} {name}")


def _summary(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {event}" for event, count in counts.items()) or "nothing"


def _server(port: int | None) -> server.Server:
    """Return the server that runs, else start it."""
    if server.recorded() is None:
        preferred = server.preferred_port()
        started = server.start(port)
        print(f"local AWS server: started on {started.endpoint} (process {started.pid})")
        if port is None and started.port != preferred:
            print(server.taken(preferred))
        return started
    started = server.running()
    server.check_version()
    if port not in (None, 0, started.port):
        raise LocalError(
            f"--port {port}: the server runs on port {started.port}. To end it and forget all integers: "
            f"{command('down')}"
        )
    print(f"local AWS server: running on {started.endpoint} (process {started.pid})")
    return started


def outputs(stack: str, path: str | None, *, as_json: bool) -> None:
    """Print what the last deployment exported, or one value of it."""
    exported = Deployed(stack).outputs
    value = select(exported, path) if path else exported
    if as_json or isinstance(value, list):
        print(json.dumps(value, indent=2))
    else:
        print(as_text(value))


def demo(stack: str) -> None:
    """Mint in every region, print a table, and check all regions as a caller sees them."""
    exported = Deployed(stack).outputs
    local = exported.get(LOCAL, "")
    by_name = any(url.startswith("https:") for url in exported["urls"].values())  # there are no Function URLs
    if by_name and not local:
        raise LocalError(f"there are no Function URLs to mint by.\n{how_to(exported).rstrip()}")
    proxy = local if by_name else ""
    exported["urls"] = plain(exported["urls"])
    if local and not DOMAIN.runs():
        raise LocalError("the process that stands for the address has ended. To start it, run `up` again as before")
    try:
        minted = mint_everywhere(exported, proxy)
        print(f"\n{table(exported, minted)}\n")
        exported["urls"] = {region: url for region, url in exported["urls"].items() if minted[region]}
        if local:
            print(f"the address, {local}, minted {mint_once_moved(local)}\n")
        caller.check(exported["urls"], proxy)
        print(f"\n{next_commands(exported, proxy)}")
        if local:
            print(moving(exported))
    except OSError as error:
        raise LocalError(f"minting failed: {error}\n{server.SERVICE.log_end()}") from error


def down() -> None:
    """End the server and remove what it left. Files of others in the state folder stay."""
    recorded = server.recorded() is not None
    DOMAIN.stop()
    GATEWAY.stop()
    GATEWAY_OF_VERSION_1.stop()
    ended = server.SERVICE.stop()
    for name in ("tmp", "apis"):
        shutil.rmtree(state_folder() / name, ignore_errors=True)
    for name in stacks():
        (state_folder() / f"{name}.json").unlink(missing_ok=True)
    if recorded and not ended:
        print("the server had ended already; what it left is removed")
    else:
        print("ended; everything minted here is forgotten" if ended else "nothing ran here")
