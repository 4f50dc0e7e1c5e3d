"""The API Gateway that mints without a function."""
