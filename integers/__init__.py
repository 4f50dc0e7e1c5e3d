"""What the program, the functions and the simulation share. Pure, and cheap to import: no `dataclasses` here."""
