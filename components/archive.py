"""A function's archive: source files and nothing else, byte for byte the same every time."""

import hashlib
from pathlib import Path
from typing import cast

import pulumi

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

FUNCTIONS = HERE / "lambda" if (HERE / "lambda").exists() else ROOT / "lambda"
"""The functions' sources: beside this package where it is installed, beside its folder in a checkout."""

SHARED = ROOT / "integers"
"""What the functions share with the program."""


def archive(function: str, *shared: str) -> pulumi.AssetArchive:
    """Return the archive of a function, with the files that `archived` names.

    Pulumi hashes the contents and zips them with fixed times, so the archive changes when a file does
    and never otherwise.
    """
    files = archived(function, *shared)
    return pulumi.AssetArchive({name: pulumi.FileAsset(str(path)) for name, path in files.items()})


def digest(code: pulumi.AssetArchive) -> str:
    """Return the SHA-256 of an archive's files and their names, in hexadecimal digits. It is known in a preview."""
    found = hashlib.sha256()
    for name, asset in sorted(code.assets.items()):
        content = Path(cast("pulumi.FileAsset", asset).path).read_bytes()
        found.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return found.hexdigest()


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
