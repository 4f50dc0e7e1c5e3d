"""Resources keep the region and the name with which they were created."""

STAYS = ["region", "name", "alarmName", "dashboardName"]
"""For `ignore_changes`: no change of settings moves a resource to another region, or gives it another name.

Another home region and another prefix are refused (`deployment.py`). But without a preview, an update would begin to
replace resources before that. Setting it back would then fail, since their names are taken.
"""
