"""The components of a deployment. `GlobalIntegers` is all of it."""

from .global_integers import GlobalIntegers
from .settings.args import GlobalIntegersArgs

__all__ = ["GlobalIntegers", "GlobalIntegersArgs"]
