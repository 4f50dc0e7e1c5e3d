"""Decides without I/O: requests and responses, which region is asked next, which integers are leased."""
