"""A resource's inputs as JSON, and those that `ignore_changes` names: they keep the value that was recorded before."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pulumi

from ..paths import LocalError
from ..resources.lambda_ import archived


def as_json(value: Any) -> Any:
    """Return inputs as JSON. An archive is zipped with fixed times, so equal files are equal inputs (`archived`)."""
    match value:
        case pulumi.AssetArchive():
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w") as zipped:
                for name, asset in sorted(cast("dict[str, Any]", value.assets).items()):
                    zipped.writestr(zipfile.ZipInfo(name), _content(asset))
            return archived(target.getvalue())
        case pulumi.FileArchive():
            files = {str(path.relative_to(value.path)): path for path in Path(value.path).rglob("*") if path.is_file()}
            return as_json(pulumi.AssetArchive({name: pulumi.FileAsset(path) for name, path in files.items()}))
        case dict():
            return {key: as_json(entry) for key, entry in cast("dict[str, Any]", value).items()}
        case list():
            return [as_json(entry) for entry in cast("list[Any]", value)]
        case float() if value.is_integer():  # numbers travel as doubles
            return int(value)
        case _:
            return value


def _content(asset: pulumi.FileAsset | pulumi.StringAsset) -> bytes:
    return asset.text.encode() if isinstance(asset, pulumi.StringAsset) else Path(asset.path).read_bytes()


def with_ignored(inputs: Mapping[str, Any], before: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return inputs with what `before` has under these names. What `before` doesn't have, they don't have either."""
    if path := next((name for name in names if not name.isidentifier()), None):
        raise LocalError(f"ignore_changes: {path}: only whole inputs can be kept here (local/engine)")
    return {name: value for name, value in inputs.items() if name not in names} | {
        name: deepcopy(before[name]) for name in names if name in before
    }
