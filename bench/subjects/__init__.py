"""What is measured: each module has `mint()`, one request as its user would deploy it, which gives the integers."""
