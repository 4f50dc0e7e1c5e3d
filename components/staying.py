"""Resources stay in the region in which they were created."""

STAYS = ["region"]
"""For `ignore_changes`: no change of settings moves a resource to another region.

Another home region is refused (`deployment.py`). But without a preview, an update would begin to replace resources
before that. Setting the region back would then fail, since their names are taken.
"""
