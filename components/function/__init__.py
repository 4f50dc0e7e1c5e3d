"""A Lambda function with its code, role and policy; a DynamoDB table."""
