"""Signed calls to AWS services without an SDK, for functions that must start fast.

`service.py` makes the call; `dynamodb.py` and `invocation.py` are the two services that the minting function uses.
"""
