"""What must not be deleted, although it is no longer in the program."""

import json
from collections.abc import Sequence

from .kinds import KINDS
from .paths import LocalError, start_afresh
from .state import Made


def refuse_unknown(unseen: Sequence[Made]) -> None:
    """Check that this version can delete what is no longer in the program.

    Raises:
        LocalError: something is of a type that is not known here.
    """
    unknown = [made for made in unseen if made.type not in KINDS]
    if unknown:
        raise LocalError(
            f"these are no longer in the program, and of a type that can't be deleted here:\n{_lines(unknown)}\n"
            f"Nothing was deleted. Deploy with the version that made them, or {start_afresh()}"
        )


def refuse_protected(unseen: Sequence[Made]) -> None:
    """Check that nothing that is no longer in the program is protected.

    Raises:
        LocalError: something is.
    """
    protected = [made for made in unseen if made.protect and not made.replaced]
    if protected:
        regions = json.dumps(sorted({made.inputs["region"] for made in protected if "region" in made.inputs}))
        raise LocalError(
            f"these are protected, and no longer in the program:\n{_lines(protected)}\n"
            "Nothing was deleted. To keep them, put back what was taken out of the settings.\n"
            f"To remove a region: deploy with `leaving: {regions}` beside `regions`, then without it.\n"
            "To delete anything else: put it back, deploy with `protect: false`, then take it out."
        )


def _lines(resources: Sequence[Made]) -> str:
    return "\n".join(f"  {made.name} ({made.key})" for made in resources)
