"""Mints from all regions while everything fails that can fail: `make chaos`.

It deploys the real program on a local AWS server of its own. `proxy.py` stands between the functions and DynamoDB and
injects faults into their calls, `events.py` makes regions and tables come and go, `clients.py` mints all the time,
and `history.py` records every integer that was handed out and looks for one that was handed out twice.
"""
