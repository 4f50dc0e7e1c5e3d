"""Our function beside the tutorial's with https on both sides: `python -m bench.https`, a part of `make bench`.

The stub has a certificate of a chain of its own: root, intermediate, server. Both sides are given one bundle: this
machine's roots, and the chain's root. Its name begins like Amazon's, as that of AWS's endpoints does.
"""

import argparse
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import trustme

from bench.figures import FILE, Figures, write
from bench.processes import Bench, Run, stub

SUBJECTS = {"tutorial": "tutorial function (boto3)", "one": "ours", "exchange": "an exchange on the socket alone"}
COLUMNS = {
    "init_ms": ("init ms", "{:.0f}"),
    "first_ms": ("first ms", "{:.1f}"),
    "start_ms": ("init + first ms", "{:.0f}"),
    "cpu_ms": ("CPU ms/request", "{:.3f}"),
    "peak_mb": ("peak MB", "{:.1f}"),
}
"""Heading and format. boto3 reads the roots in its first request, ours while it is initialised. So the sum is shown."""


def measure(bench: Bench, folder: Path, rounds: int, requests: int) -> dict[str, dict[str, float]]:
    """Return start, processor time and memory of each subject. The certificates are kept in `folder`."""
    certificate, root, bundle = _certificates(folder)
    trusted = {"SSL_CERT_FILE": str(bundle), "AWS_CA_BUNDLE": str(bundle), "ROOT_FILE": str(root)}
    runs: dict[str, list[Run]] = {subject: [] for subject in SUBJECTS}
    with stub(certificate) as endpoint:
        for _ in range(rounds):
            for subject, made in runs.items():
                made.append(bench.run(subject, endpoint, requests, more=trusted))
    for run in (run for made in runs.values() for run in made):
        run["start_ms"] = run["init_ms"] + run["first_ms"]
    return {subject: {c: median(run[c] for run in made) for c in COLUMNS} for subject, made in runs.items()}


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """Write the server's key with its chain, its root, and the bundle that both sides trust."""
    root = trustme.CA(organization_name="Amazon Root CA, as bench has it", key_type=trustme.KeyType.RSA)
    issued = root.create_child_ca(key_type=trustme.KeyType.RSA).issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
    certificate, alone, bundle = folder / "server.pem", folder / "root.pem", folder / "bundle.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(certificate)
    root.cert_pem.write_to_path(alone)
    usual = ssl.get_default_verify_paths().cafile
    if not usual:  # None if there is none
        raise SystemExit("this machine has no file of root certificates; set SSL_CERT_FILE to one")
    bundle.write_bytes(Path(usual).read_bytes() + root.cert_pem.bytes())
    return certificate, alone, bundle


def table(figures: Figures) -> str:
    """Return a table with a row per subject, then ours relative to the tutorial's."""
    rows = [["", *(title for title, _ in COLUMNS.values())]]
    rows += [[name, *_cells(figures[key])] for key, name in SUBJECTS.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    ours, theirs = figures["one"], figures["tutorial"]
    parts = ", ".join(f"{title} {ours[column] / theirs[column]:.2f}" for column, (title, _) in COLUMNS.items())
    return "\n".join([*lines, "", f"ours ÷ tutorial: {parts}"])


def _cells(figures: Mapping[str, float]) -> list[str]:
    return [form.format(figures[column]) for column, (_, form) in COLUMNS.items()]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.https", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default: 9)")
    parser.add_argument("--requests", type=int, default=1000, help="a round and subject (default: 1000)")
    parser.add_argument("--keep", action="store_true", help=f"write the figures to {FILE.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Bench(Path(name) / "archive"), Path(name), options.rounds, options.requests)
    print(table(figures))
    if options.keep:
        write(https=figures)


if __name__ == "__main__":
    main()
