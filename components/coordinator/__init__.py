"""What exists only in the home region, and what a deployment asks of the coordinator."""
