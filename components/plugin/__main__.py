"""`GlobalIntegers` as a Pulumi package for programs in every language.

Pulumi's engine runs this file, after `pulumi package add <your checkout>/components/plugin`.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi.provider import main
from pulumi.provider.experimental.analyzer import ComponentDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.provider import ConstructResult
from pulumi.provider.server import ComponentInitError

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "components").is_dir())
"""The checkout, or the folder of the plugin's archive."""

if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # instead of this folder

from components.global_integers import GlobalIntegers  # noqa: E402 (found by the line above)

NAME = "global-integers"

NAMESPACE = "global-integers"
"""The SDKs' folders and most of their names begin with it: `sdks/global-integers-global-integers`."""

PYPROJECT: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())

PROJECT: Mapping[str, Any] = PYPROJECT["project"]

REPOSITORY: str = PYPROJECT["tool"]["global-integers"]["repository"]
"""The URL of the published repository. It is empty as long as nobody owns one."""

UNOWNED = "https://global-integers.invalid"
"""The repository until then. No such host can exist (RFC 2606), so Go can't download the SDK from it."""

SDK_NAMES: Mapping[str, Mapping[str, str]] = {"nodejs": {"packageName": "Global-Integers"}}
"""npm accepts no new package with capital letters, so nobody can publish one of this name.

Every SDK is installed from the folder `sdks/` of the user's project. This is for the day when that folder is missing:
what is installed then must not be a stranger's package. Go's module path begins with the repository. In Python and C#,
the project refers to the SDK by its path; in Java, the user copies its sources.
"""

ABOUT: Mapping[str, Any] = {
    "displayName": "Global integers",
    "description": PROJECT["description"],
    "keywords": ["pulumi", "category/cloud", "kind/component", *PROJECT["keywords"]],
    "license": PROJECT["license"],
    "repository": REPOSITORY or UNOWNED,
}
"""What Pulumi's registry shows about the package (Pulumi package schema, "Package")."""


def linked(text: str, repository: str = REPOSITORY) -> str:
    """Return the text with its links to other pages of `docs/` as a reader elsewhere needs them.

    Links lead to the repository. Without one, they are paths in the checkout: `default (docs/operations.md)`.
    """
    if repository:
        return re.sub(r"\]\((?=\w+\.md)", f"]({repository}/blob/main/docs/", text)
    return re.sub(r"\[([^][]+)\]\((\w+\.md[^)]*)\)", r"\1 (docs/\2)", text)


class Package(ComponentProvider):
    """Serves the component to Pulumi's engine. Its schema is read from the types and the docstrings."""

    def __init__(self) -> None:
        """Read the schema."""
        super().__init__([GlobalIntegers], NAME, NAMESPACE, PROJECT["version"])
        text = re.sub(r"\\n +", " ", self.schema or "{}")  # docstrings have several lines
        schema = json.loads(linked(text))
        for language, names in SDK_NAMES.items():
            schema["language"][language] |= names
        self.schema = json.dumps({**schema, **ABOUT})

    def map_inputs(self, inputs: pulumi.Inputs, component_def: ComponentDefinition) -> pulumi.Inputs:
        """Return the inputs by their names in Python. The component itself checks for missing and unknown ones."""
        return {component_def.inputs_mapping.get(name, name): value for name, value in inputs.items()}

    def construct(
        self, name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Make the component.

        Raises:
            InputPropertiesError: the settings are wrong. Pulumi shows its message, without a traceback.
        """
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, pulumi.RunError):
                # Without a list of errors, Pulumi 3.272 itself fails ("no attribute 'trailing_metadata'").
                raise pulumi.InputPropertiesError(str(error.inner), []) from error
            raise


if __name__ == "__main__":
    main(Package(), sys.argv[1:])
