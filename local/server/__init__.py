"""The AWS API server on this machine, and how processes and ports are managed."""
