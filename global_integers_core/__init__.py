"""Code that the program, the functions and the simulation share. Pure and quick to import: no `dataclasses` here."""
