"""`make bench`: the minting function beside the tutorials' one, and the client, in one run.

All functions run under AWS's own runtime for Python, and an empty function shows what that needs itself. They call a
stub instead of DynamoDB, so that only their own cost is measured: with http, then with https, as on AWS. Medians over
interleaved rounds, each subject in a process of its own. Then the client, over a stack on this machine.
"""

import argparse
import tempfile
from pathlib import Path

import trustme
from botocore.httpsession import get_cert_path

from local.environment import isolate
from local.paths import ROOT
from proof.bench import callers
from proof.bench.figures import FILE, write
from proof.bench.functions import SUBJECTS, measure, table

REQUESTS, SECONDS = 1000, 3.0
"""Requests to each function in each round; seconds for each of the client's rows."""

SECURE = ("empty", "tutorial", "bare", "one")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m proof.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default: 9)")
    parser.add_argument("--keep", action="store_true", help=f"write {FILE.relative_to(ROOT)}")
    options = parser.parse_args()
    functions = measure(SUBJECTS, options.rounds, REQUESTS)
    print(table(functions), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        certificate, bundle = _certificates(Path(folder))
        trusted = {"SSL_CERT_FILE": bundle, "AWS_CA_BUNDLE": bundle}
        https = measure(SECURE, options.rounds, REQUESTS, certificate, **trusted)
    print(f"\nwith https\n{table(https)}", flush=True)
    clients = callers.measure(max(1, options.rounds // 3), SECONDS)
    print(f"\nthe client\n{callers.table(clients)}")
    if options.keep:
        write(subjects=functions, https=https, callers=clients)


def _certificates(folder: Path) -> tuple[Path, str]:
    """Write a server's key with its chain, as AWS's endpoints have one, and the bundle that both sides trust.

    The bundle has the roots that boto3 trusts, and the chain's root. The root's name begins like Amazon's.
    """
    root = trustme.CA(organization_name="Amazon Root CA, as bench has it", key_type=trustme.KeyType.RSA)
    issued = root.create_child_ca(key_type=trustme.KeyType.RSA).issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
    certificate, bundle = folder / "server.pem", folder / "bundle.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(certificate)
    bundle.write_bytes(Path(str(get_cert_path(True))).read_bytes() + root.cert_pem.bytes())
    return certificate, str(bundle)


if __name__ == "__main__":
    isolate()
    main()
