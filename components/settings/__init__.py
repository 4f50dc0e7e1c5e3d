"""The settings of a deployment: what may be set, its checks, and what they ask of the coordinator."""
