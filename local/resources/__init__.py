"""The kinds of resources that the local deployment can make, one AWS service per module."""

from .kind import Aws, Kind, Result

__all__ = ["Aws", "Kind", "Result"]
