"""Our function beside the tutorial's with https on both sides: `python -m bench.https`, a part of `make bench`.

The stub has a certificate of a chain of its own: root, intermediate, server. Both sides are given one bundle: this
machine's roots, and the chain's root. Its name begins like Amazon's, as that of AWS's endpoints does.
"""

import argparse
import ssl
import tempfile
from pathlib import Path

import trustme

from bench.figures import ALONE, FILE, table, write
from bench.processes import Bench, alone, stub

SUBJECTS = ("empty", "tutorial", "one", "exchange")


def measure(bench: Bench, folder: Path, rounds: int, requests: int) -> dict[str, dict[str, float]]:
    """Return start, processor time and memory of each subject. The certificates are kept in `folder`."""
    certificate, root, bundle = _certificates(folder)
    trusted = {"SSL_CERT_FILE": str(bundle), "AWS_CA_BUNDLE": str(bundle), "ROOT_FILE": str(root)}
    with stub(certificate) as endpoint:
        return alone(bench, SUBJECTS, endpoint, rounds, requests, trusted)


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


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.https", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default: 9)")
    parser.add_argument("--requests", type=int, default=1000, help="a round and subject (default: 1000)")
    parser.add_argument("--keep", action="store_true", help=f"write the figures to {FILE.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Bench(Path(name) / "archives"), Path(name), options.rounds, options.requests)
    print(table(figures, ALONE))
    if options.keep:
        write(https=figures)


if __name__ == "__main__":
    main()
