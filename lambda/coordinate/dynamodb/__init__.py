"""Carries out what the protocol decides, by calls to DynamoDB."""
