"""The stack's domain on this machine: what Route 53 and API Gateway's names do on AWS, by the same records."""
