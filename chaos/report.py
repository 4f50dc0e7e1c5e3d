"""The report of a run."""

from collections.abc import Mapping, Sequence

from .events import LARGEST_BLOCK, Events
from .history import Duplicate

SHOWN = 10
"""Duplicates that are shown one by one."""


def report(events: Events, seconds: float) -> tuple[list[str], int]:
    """Return the lines of the report but the last one, and how many integers were handed out twice."""
    history, proxy, operator = events.history, events.stack.proxy, events.operator
    excepted = history.excepted(proxy.writes)
    duplicates = history.duplicates(excepted)
    gaps = history.gaps()
    lines = [
        f"ran: {seconds:.0f} s; deployments and runs of the coordinator: {operator.done:,}; "
        f"failed: {_counts(operator.failed)}",
        f"events: {_counts(events.happened)}",
        f"faults: {_counts(proxy.injected)}",
        f"requests: {history.requests:,}, "
        f"of them {history.replays:,} that repeated an Idempotency-Key and got the same",
        f"failures: {history.failures.total():,}: {_counts(history.failures)}",
        f"bases: {len(events.skipped):,} of epochs that began while every region answered; before them each region "
        f"skipped at most {max(events.skipped, default=0):,} integers",
        f"gaps: the largest {gaps.largest:,}, skipped in total {gaps.skipped:,}",
        f"excepted: {excepted.total():,} integers minted in {len(history.restorations)} restored tables, each from its "
        "restoration to the end of the coordinator's next run that began after it "
        f"({len(history.repeated()) - len(duplicates):,} of them had been handed out before); nothing else is excepted",
        f"integers: {history.integers:,}: {history.single:,} one by one, {history.in_blocks:,} in blocks; "
        f"besides, {len(history.largest):,} blocks of {LARGEST_BLOCK:,}",
        *history.contradictions,
        *_shown(duplicates),
    ]
    return lines, len(duplicates)


def _shown(duplicates: Sequence[Duplicate]) -> list[str]:
    lines = [
        f"{duplicate.counter} {duplicate.integer}: "
        + "; ".join(f"{mint.region} by {mint.entry} at {mint.began:.3f}-{mint.ended:.3f}" for mint in duplicate.mints)
        for duplicate in duplicates[:SHOWN]
    ]
    return [*lines, f"… and {len(duplicates) - SHOWN:,} more"] if len(duplicates) > SHOWN else lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "none"
