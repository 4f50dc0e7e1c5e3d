"""The coordinator, the only writer of layouts: for deployments, the schedule, operators, and regions that ran out."""
