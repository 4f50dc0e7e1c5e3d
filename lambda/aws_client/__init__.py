"""Signed calls to AWS services without an SDK, for functions that must start fast.

`service.py` makes a call, `signed_request.py` signs each attempt, `connection.py` sends it and reads the response.
`invocation.py` invokes another function; `meaning.py` says what an error means.
"""
