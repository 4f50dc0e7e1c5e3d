"""Print what a window means at some rates, in skipped integers and in time: `python -m bench.windows`.

The coordinator's own decision (`coordinate/protocol/plan.py`) is asked when it would raise the limit, and to what.
Three regions mint at the same rate all the time, and the schedule runs every five minutes, as by default.
"""

from dataclasses import replace

from simulation.pulumi import decoded, desired  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.protocol.model import DeploymentRecord, Item, Register
from coordinate.protocol.plan import Change, granted, plan

from bench.figures import aligned
from integers.lattice import MAX_INTEGER, MAX_REGIONS, places

REGIONS = ("a", "b", "c")
MINUTES = 5
BEGIN = 1_000_000
"""When the first limit is granted, in seconds since 1970."""

WINDOWS = (1_000, 1_000_000, 100_000_000)
RATES = {1: "1", 100: "100", 1_000: "1,000", 1_000_000: "1,000 blocks of 1,000"}
"""Integers per second in each region, and what a request asks for."""

DAY = 24 * 3600


def grown(window: int, rate: int) -> tuple[int, int]:
    """Let the regions mint at this rate per second until the window grows no more.

    Returns:
        The final window, in integers of one region; and the seconds in which a region had nothing left meanwhile.
    """
    asked = replace(decoded(desired(REGIONS, window=window)), watch_minutes=MINUTES)
    record = DeploymentRecord("home", 1, 0, BEGIN, asked, reconciled=True)
    register = granted(Register("c", "home", 1, REGIONS, REGIONS, 1, 0, 0, 0), 0, window, BEGIN)
    now, issued, short, stable = BEGIN, 0, 0.0, 0
    while stable < 3:
        left = register.limit // len(REGIONS) - issued
        runs = max(1, -(-(left - register.window // 2) // (rate * MINUTES * 60)))  # until less than half is left
        seconds = runs * MINUTES * 60
        minted = min(rate * seconds, left)
        now += seconds
        short += seconds - minted / rate
        issued += minted
        raised = _run(register, record, issued, now)
        if raised is None:  # exactly half is left
            continue
        stable = stable + 1 if raised.window == register.window else 0
        register = raised
    return register.window, round(short)


def _run(register: Register, record: DeploymentRecord, issued: int, now: int) -> Register | None:
    """Return the register as the schedule's run leaves it, or None if it leaves it as it is."""
    items = {
        region: Item(place.before(1) + issued * place.stride, place.stride, place.ceiling(register.limit, 1), 1)
        for region, place in places(REGIONS).items()
    }
    step = plan(register, record, items, {region: region for region in REGIONS}, now)
    return step.register if isinstance(step, Change) else None


def table() -> str:
    """Return a table of all windows and rates."""
    rows = [["window", "minted per second", "grows to", "short", "a lost table skips", "home may be away for"]]
    for window in WINDOWS:
        for rate, asked in RATES.items():
            final, short = grown(window, rate)
            # so long after a run that has raised the limit; half as long after another run, at least
            lasts = f"{span(final // rate // 2)} to {span(final // rate)}"
            missing = span(short) if short else "never"
            rows.append([f"{window:,}", asked, f"{final:,}", missing, f"{final * len(REGIONS):,}", lasts])
    return aligned(rows)


def span(seconds: float) -> str:
    """Return a length of time in a unit that a reader can grasp."""
    for unit, size in (("years", 365 * DAY), ("days", DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def enough() -> str:
    """Return how many changes, and how many lost tables, use up all integers with the defaults."""
    lost = MAX_INTEGER // (grown(100_000_000, 1)[0] * len(REGIONS))
    years = MAX_INTEGER // (10_000 * MAX_REGIONS * 365)
    return (
        f"There are integers for {lost // 10**6} million lost tables of three regions, or for a change of "
        f"{MAX_REGIONS} regions every day for {years // 10**6} million years."
    )


if __name__ == "__main__":
    print(f"{table()}\n\n{enough()}")
