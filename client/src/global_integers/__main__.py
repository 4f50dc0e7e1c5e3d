"""`python -m global_integers`, the same as `global-integers`."""

import sys

from .command_line import main

sys.exit(main())
