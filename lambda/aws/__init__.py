"""Signed calls to AWS services without an SDK, for functions that must start fast.

`service.py` makes the call, of which `request.py` signs each attempt and `connection.py` exchanges it for a response.
`invocation.py` invokes another function; `meaning.py` says what an error means.
"""
