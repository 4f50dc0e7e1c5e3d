"""A function's archive: source files and their version, byte for byte the same every time."""

import tomllib
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import cast

import pulumi

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

FUNCTIONS = HERE / "lambda" if (HERE / "lambda").exists() else ROOT / "lambda"
"""The functions' sources: beside this package where it is installed, beside its folder in a checkout."""

SHARED = ROOT / "integers"
"""What the functions share with the program."""

PROJECT = ROOT / "pyproject.toml"
"""It has the project's version in a checkout. Where the project is installed, there is none."""

VERSION = "version.txt"
"""The file of the archive that says which version of the code it is."""


def archive(function: str, *shared: str) -> pulumi.AssetArchive:
    """Return the archive of a function: the files that `archived` names, and their version as `version.txt`.

    Pulumi hashes the contents and zips them with fixed times, so the archive changes when a file does
    and never otherwise.
    """
    files = archived(function, *shared)
    sources = {name: pulumi.FileAsset(str(path)) for name, path in files.items()}
    return pulumi.AssetArchive({**sources, VERSION: pulumi.StringAsset(f"{version(files)}\n")})


def version(files: Mapping[str, Path]) -> str:
    """Return the version of these files, like `2.0.0+3f2a9c81d0b7`: the project's, and a hash of the files.

    The hash has the first 12 digits of SHA-256 over every file's name and content. So two
    archives with the same project version can be told apart.

    Args:
        files: the files by their names in the archive.
    """
    content = sha256()
    for name, path in sorted(files.items()):
        content.update(f"{name} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return f"{_project_version()}+{content.hexdigest()[:12]}"


@cache
def _project_version() -> str:
    if PROJECT.exists():
        return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    return installed_version("global-integers")


def version_in(code: pulumi.AssetArchive) -> str:
    """Return the version of an archive's files. It is known in a preview."""
    return cast("pulumi.StringAsset", code.assets[VERSION]).text.strip()


def archived(function: str, *shared: str) -> dict[str, Path]:
    """Return the files of a function by their names in its archive. Byte code and tests stay out.

    Args:
        function: a folder of `lambda/`, which is also the package's name. `integers/` comes with every one.
        shared: more folders of `lambda/` that it imports.

    Raises:
        FileNotFoundError: there is no such folder, or it has no `.py` files.
    """
    files: dict[str, Path] = {}
    for folder in (*(FUNCTIONS / name for name in (function, *shared)), SHARED):
        found = sorted(path for path in folder.rglob("*") if _is_source(path.relative_to(folder)))
        if not found:
            raise FileNotFoundError(f"{folder.relative_to(ROOT)} has no .py files")
        files |= {path.relative_to(folder.parent).as_posix(): path for path in found}
    return files


def _is_source(path: Path) -> bool:
    return path.suffix in (".py", ".html") and "tests" not in path.parts
