"""One subject in a process of its own: `python -m bench.subject <name> <requests> <seconds>`, its figures as JSON.

After a warm-up, it mints `requests` times or for `seconds`, whichever ends first.
"""

import importlib
import json
import resource
import sys
import time

WARM_UP = 20


def main(name: str, requests: int, seconds: float) -> None:
    """Run the subject and print its figures."""
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
                "peak_mb": peak_mb(),
                "integers": integers,
            }
        )
    )


def peak_mb() -> float:
    """Return this program's peak memory. getrusage(2) would include its parent's, from before the exec."""
    try:
        with open("/proc/self/status") as file:  # noqa: PTH123 (pathlib would add to the subject's memory)
            status = file.read()
    except FileNotFoundError:  # a Mac, in bytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
