"""Chooses the region of a key, the same in every process (rendezvous hashing, "highest random weight").

If a region is added or removed, only the keys that move to it or away from it change their region.
"""

from collections.abc import Iterable
from hashlib import sha256


def order_of(key: str, regions: Iterable[str]) -> list[str]:
    """Return the regions by preference of this key: the largest SHA-256 of `<region> LF <key>` comes first."""
    return sorted(regions, key=lambda region: sha256(f"{region}\n{key}".encode()).digest(), reverse=True)
