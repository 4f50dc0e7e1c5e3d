"""What a run of the coordinator reports: its log, metrics and result."""
