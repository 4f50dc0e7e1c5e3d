"""The minting function: one region, one write per integer.

A cold start mostly imports modules, so each import is chosen: docs/performance.md has the figures, and
tests/lambda_/mint/test_imports.py checks which modules are imported when.
"""
