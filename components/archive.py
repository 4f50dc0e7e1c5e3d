"""A function's archive: its own `.py` and `.html` files and nothing else, the same every time."""

from pathlib import Path

import pulumi

ROOT = Path(__file__).resolve().parent.parent


def archive(package: str, *modules: str) -> pulumi.AssetArchive:
    """The files of `lambda/<package>/` under `<package>/`, plus single modules by their path in the repository.

    Pulumi hashes the contents and zips them with fixed times, so the archive changes when a file does
    and never otherwise. Byte code and tests stay out.
    """
    folder = ROOT / "lambda" / package
    code = list(folder.glob("*.py"))
    if not code:
        raise FileNotFoundError(f"lambda/{package} has no .py files")
    files = {path.relative_to(ROOT / "lambda"): path for path in sorted((*code, *folder.glob("*.html")))}
    files |= {Path(module): ROOT / module for module in modules}
    return pulumi.AssetArchive({name.as_posix(): pulumi.FileAsset(str(path)) for name, path in files.items()})
