"""Resources stay in the region in which they were created."""

STAYS = ["region"]
"""The input that no change of settings changes: `ignore_changes` of what would be replaced in another home region.

Another home region is refused (`deployment.py`). But an update without a preview would have begun to replace the
resources by then, and setting the region back would fail, since their names were taken.
"""
