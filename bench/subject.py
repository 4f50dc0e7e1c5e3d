"""One subject in a process of its own: `python -m bench.subject <name> <requests> <seconds>`, its figures as JSON.

It mints `requests` times, or for so many seconds, whichever ends first, after some to warm up.
"""

import importlib
import json
import resource
import sys
import time

WARM_UP = 20


def main(name: str, requests: int, seconds: float) -> None:
    begun = time.perf_counter()
    mint = importlib.import_module(f"bench.subjects.{name}").mint
    ready = time.perf_counter()
    integers: list[int] = mint()
    first = time.perf_counter()
    for _ in range(min(WARM_UP, requests)):
        integers += mint()
    made, cpu, wall = len(integers), time.process_time(), time.perf_counter()
    done = 0
    while done < requests and time.perf_counter() - wall < seconds:
        integers += mint()
        done += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(
        json.dumps(
            {
                "init_ms": (ready - begun) * 1000,
                "first_ms": (first - ready) * 1000,
                "cpu_ms": cpu / done * 1000,
                "requests_per_s": done / wall,
                "integers_per_s": (len(integers) - made) / wall,
                # Kilobytes on Linux, bytes on a Mac (getrusage(2)).
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                / (1e6 if sys.platform == "darwin" else 1e3),
                "integers": integers,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
