"""What is measured beside the minting function: each module has `handler`, as its user would deploy it."""
