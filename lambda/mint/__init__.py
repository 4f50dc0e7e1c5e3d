"""The minting function: one region, one write per integer.

A cold start mostly imports modules, so each import is chosen: tests/lambda_/mint/test_imports.py checks which ones are
imported when. In ms of a whole processor, with Python 3.11: boto3 with a client 220, all of this code 14, `http.client`
14, `dataclasses` (it imports `inspect`) 6, `logging` 5, `ssl` 4. `python -X importtime -c "import mint.handler"` has
them all.
"""
