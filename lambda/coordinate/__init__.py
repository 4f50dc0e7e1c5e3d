"""The coordinator, the only writer of layouts: for deployments, the schedule, and operators who create counters."""
