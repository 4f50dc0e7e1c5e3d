"""The whole system on one machine: the real program and the real functions on an AWS API server on 127.0.0.1."""
