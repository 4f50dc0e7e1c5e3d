"""The tables in memory, and coordinators that run on them in any order: for the tests and the bench.

`lambda` is a Python keyword, so the functions' folders are not a package: they go on the import path.
"""

import sys
from pathlib import Path

_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "lambda")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
