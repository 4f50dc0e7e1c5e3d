"""The minting function: one region, one write per integer.

A cold start mostly imports modules, so each import is chosen. Milliseconds of a whole processor, on Python 3.11 and
3.14: the least of 25 runs of `python -X importtime -c "import mint.handler"`. A module's time doesn't include what
was imported before it. A function of 256 MB has a seventh of a processor, but a whole one while it is initialised.

                                                                3.11  3.14
always         typing                                            4.7   2.8
               http, with enum                                   2.7   1.8
               hashlib                                           2.6   2.3
               socket                                            2.4   1.3
               re                                                1.6   1.4   loaded by Lambda's own runtime
               json                                              1.4   2.6   loaded by Lambda's own runtime
               other modules                                       2     3
               mint, aws and integers                             14    15   compiled, since an archive has no byte code
with https     ssl                                               4.3   3.4   aws.connection, during initialisation
               Amazon's root certificates                          3     –   aws.connection, during initialisation
               all root certificates                            20.6   5.9   aws.connection, if Amazon's aren't enough
when needed    logging                                           5.4    12   loaded by Lambda's own runtime
               urllib.parse                                      1.8   2.1   a query string
               random                                            0.9   0.5   a retry
               mint.api.problems, integers.lattice               1.1   –     a counter that can't be minted
               mint.receipts                                     0.8   0.8   an Idempotency-Key
               mint.leases                                       0.6   0.7   the setting lease
never          boto3, with a client                              220     –
               urllib.request                                     19    16
               http.client                                        14    10   it parses headers with the email package
               dataclasses                                       6.0   4.8   it imports inspect

With the setting callers, mint.permissions is loaded during initialisation: less than 1 ms on 3.11.

tests/lambda_/mint/test_imports.py checks which modules are imported when.
"""
