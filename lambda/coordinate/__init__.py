"""The coordinator, the only writer of layouts.

It runs at deployments, by a schedule, and to create a counter. Minting never calls it.
"""
