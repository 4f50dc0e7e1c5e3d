"""Wrong settings and what is said of them, as a text file: a line each. `make fix` writes it.

A line begins with the settings, which are added to those of three regions. Those under `in a program` are in Python.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from components.settings import SettingsError, settings_of
from tests.components.running import HOME, THREE, config, refusals

REFUSALS = Path(__file__).with_name("refusals.txt")
IN_A_PROGRAM = "in a program\n"


def refused(text: str) -> str:
    """Return the text of the file with what is said now."""
    of_a_stack, heading, of_a_program = text.partition(IN_A_PROGRAM)
    return _each(of_a_stack, of_stack) + heading + _each(of_a_program, in_program)


def _each(text: str, said: Any) -> str:
    lines = [line.partition(" → ")[0] for line in text.splitlines()]
    return "".join(f"{line} → {' | '.join(said(**json.loads(line)))}\n" if line else "\n" for line in lines)


def of_stack(**more: Any) -> list[str]:
    """Return what is said of the settings of a stack. None: it isn't set."""
    asked = config(home=HOME, **{"regions": THREE, **{key: value for key, value in more.items() if key != "home"}})
    asked |= {"aws:region": more["home"]} if "home" in more else {}
    return refusals({key: value for key, value in asked.items() if value not in (None, "null")})


def in_program(**more: Any) -> list[str]:
    """Return what is said of the arguments of a program."""
    with pytest.raises(SettingsError) as wrong:
        settings_of({"home": HOME, "regions": THREE, **more}, "p")
    first, *lines = str(wrong.value).splitlines()
    assert first == "the settings are wrong:"
    return [line.strip() for line in lines]
