"""`GlobalIntegers` as a Pulumi package, for programs in every language: `pulumi package add <this repository>/plugin`.

Pulumi's engine runs this file.
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
"""The SDKs' names begin with it: `@global-integers/global-integers`, or `global_integers_global_integers` in Python."""

PROJECT: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

DOCS = "https://github.com/global-integers/global-integers/blob/main/docs"

ABOUT: Mapping[str, Any] = {
    "displayName": "Global integers",
    "description": PROJECT["description"],
    "keywords": ["pulumi", "category/cloud", "kind/component", *PROJECT["keywords"]],
    "license": PROJECT["license"],
}
"""What Pulumi's registry shows about the package (Pulumi package schema, "Package")."""


class Package(ComponentProvider):
    """Serves the component to Pulumi's engine. Its schema is read from the types and the docstrings."""

    def __init__(self) -> None:
        """Read the schema."""
        super().__init__([GlobalIntegers], NAME, NAMESPACE, PROJECT["version"])
        text = re.sub(r"\\n +", " ", self.schema or "{}")  # docstrings have several lines
        text = re.sub(r"\]\((?=\w+\.md)", f"]({DOCS}/", text)
        self.schema = json.dumps({**json.loads(text), **ABOUT})

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
