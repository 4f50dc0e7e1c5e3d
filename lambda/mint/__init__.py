"""The minting function: one region, one write per integer.

A cold start is imports, so here each is chosen. Milliseconds of a whole processor (256 MB has a seventh of
one, except while the function is initialised): Python 3.11, the least of 25 runs of
`python -X importtime -c "import mint.handler"`, each without what was there before it.

always            re 7.5 (Lambda's own runtime has it already), hashlib 3.1, socket 3.0, typing 2.8, json 2.5 (has it),
                  http 0.8, zlib 0.4, hmac 0.3; these modules, compiled since an archive holds no byte code, 15
at https only     ssl 4.7 and the certificates that it trusts 25: in service.py, while the function is initialised
when needed       logging 9 (Lambda's has it), urllib.parse 2.6 (a query), random 1.0 (a second attempt),
                  receipts.py 1 (an Idempotency-Key)
never             boto3 260, urllib.request 19, http.client 14 (the parser of e-mails), dataclasses 7.5 (inspect)

tests/functions/test_imports.py holds this.
"""
