"""The stack's address on this machine: what Route 53 and API Gateway's names do on AWS, by the same records."""
