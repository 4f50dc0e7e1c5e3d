"""One host name for all regions: certificates, APIs, records and health checks."""
