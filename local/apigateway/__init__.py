"""API Gateway on this machine: a server of REST APIs, their mapping templates, and the resources that define them."""
