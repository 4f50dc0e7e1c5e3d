"""Chooses the region of a key, the same in every process (rendezvous hashing, "highest random weight").

If a region is added or removed, only those keys change their region that move to it or away from it.
"""

from collections.abc import Iterable
from hashlib import sha256


def order_of(key: str, regions: Iterable[str]) -> list[str]:
    """Return the regions in this key's order: the one with the largest SHA-256 of `<region> LF <key>` comes first."""
    return sorted(regions, key=lambda region: sha256(f"{region}\n{key}".encode()).digest(), reverse=True)
