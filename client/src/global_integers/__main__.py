"""`python -m global_integers`, and the command `global-integers`."""

import sys


def main() -> int:
    """Run the command. It may be interrupted from its first moment on."""
    try:
        from .command_line import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
