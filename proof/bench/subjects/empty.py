"""A function that does nothing: what Python and AWS's runtime need themselves."""


def handler(event: dict, context: object) -> dict:
    """Return no integer."""
    return {"statusCode": 200, "body": "null"}
