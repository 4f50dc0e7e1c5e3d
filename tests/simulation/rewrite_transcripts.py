"""Rewrite what the transcripts print: `python -m tests.simulation.rewrite_transcripts`. Then read the difference."""

from pathlib import Path

from tests.simulation.transcript import play

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))

if __name__ == "__main__":
    for path in TRANSCRIPTS:
        path.write_text(play(path.read_text()))
