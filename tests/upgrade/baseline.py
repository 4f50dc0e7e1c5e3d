"""The baseline: the commit or release whose users the present code must not disappoint. Git has its files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from local.paths import ROOT

FILE = Path(__file__).with_name("baseline.txt")
"""It names the baseline: a full commit hash, or a release's tag."""

NAMED = re.compile(r"[0-9a-f]{40}|v\d+\.\d+\.\d+")

FETCHING = 300
"""Seconds after which a fetch hangs."""


class NotHere(Exception):
    """The baseline's files can't be had here. The message says why, and what to do."""


def named(file: Path = FILE) -> str:
    """Return the hash or tag in the file, or raise `ValueError`."""
    name = file.read_text().strip()
    if not NAMED.fullmatch(name):
        raise ValueError(f"{file.name}: {name!r} is neither a full commit hash (40 hex digits) nor a tag like v1.0.0")
    return name


def files_of(name: str, folder: Path, clone: Path = ROOT) -> Path:
    """Return a new folder in `folder` with the files of a commit or tag. The clone stays as it is.

    A shallow clone doesn't have it: then it is fetched from the clone's `origin`, into a repository of its own.

    Raises:
        NotHere: there is no git, no clone, no remote or no network.
    """

    def git(*arguments: str) -> str:
        # A container may run this in a folder of another user, whom git doesn't trust otherwise.
        command = ["git", "-c", "safe.directory=*", *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=clone,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
                capture_output=True,
                text=True,
                timeout=FETCHING,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotHere(_message(name, str(error))) from error
        if done.returncode:
            raise NotHere(_message(name, next(iter(done.stderr.splitlines()), f"git {arguments[0]} failed")))
        return done.stdout.strip()

    tag = name.startswith("v")
    archive, files = folder / "baseline.zip", folder / "baseline"
    try:
        git("archive", "--format=zip", f"--output={archive}", f"refs/tags/{name}" if tag else name)
    except NotHere:
        repository = f"--git-dir={folder / 'fetched'}"
        origin = git("remote", "get-url", "origin")
        git("init", "--quiet", "--bare", str(folder / "fetched"))
        git(repository, "fetch", "--quiet", "--depth=1", origin, f"refs/tags/{name}" if tag else name)
        git(repository, "archive", "--format=zip", f"--output={archive}", "FETCH_HEAD")
    shutil.unpack_archive(archive, files)
    return files


def _message(name: str, why: str) -> str:
    wanted = f"tag {name}" if name.startswith("v") else name
    return (
        f"the baseline {name} (tests/upgrade/baseline.txt) is not in this clone and can't be fetched from its origin: "
        f"{why}. Fetch it where there is a network (git fetch origin {wanted}), then run this again"
    )
