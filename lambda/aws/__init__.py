"""A signed call to an AWS service without an SDK, for functions that must start fast.

`service.py` is the call; `dynamodb.py` and `invocation.py` are the two services that minting uses.
"""
